"""Shapes and dtypes of convolutions, and what PyTorch refuses of them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.arrays.windows import expanded
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import sizes_text


def _times(sizes: Any) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def _check_parameters(n: int, stride: Any, padding: Any, dilation: Any, output_padding: Any, groups: int) -> None:
    if min(padding, default=0) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding, default=0) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride, default=1) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation, default=1) < 0:
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        if len(value) != n:
            raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the "
                               f"convolution dimensions, but got {name}={sizes_text(value)}")  # fmt: skip


def _check_channels(input: Any, weight: Any, bias: Any, transposed: bool, groups: int) -> None:
    shape, given = tuple(weight.shape), tuple(input.shape)
    if len(given) != len(shape):
        raise RuntimeError(
            f"Expected {len(shape)}-dimensional input for {len(shape)}-dimensional weight {sizes_text(shape)}, but got "
            f"{len(given)}-dimensional input of size {sizes_text(given)} instead"
        )
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{sizes_text(shape)} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{sizes_text(shape)}] instead"
        )
    what = "transposed=1, weight" if transposed else f"groups={groups}, weight"
    wanted = shape[0] if transposed else shape[1] * groups
    if given[1] != wanted:
        raise RuntimeError(
            f"Given {what} of size {sizes_text(shape)}, expected input{sizes_text(given)} to have {wanted} channels, but got "
            f"{given[1]} channels instead"
        )
    out = shape[1] * groups if transposed else shape[0]
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != out):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {sizes_text(shape)}, expected bias to be "
            f"1-dimensional with {out} elements, but got bias of size {sizes_text(bias.shape)} instead"
        )


def _check_output_padding(n: int, stride: Any, dilation: Any, extra: Any) -> None:
    if all(e < s or e < d for e, s, d in zip(extra, stride, dilation, strict=True)):
        return
    names = ("depth", "height", "width")[-n if n > 1 else -2 :]
    values = [(0, *extra), (1, *stride), (1, *dilation)] if n == 1 else [extra, stride, dilation]
    said = [
        f"{what}_{name}: {value}"
        for what, given in zip(("output_padding", "stride", "dilation"), values, strict=True)
        for name, value in zip(names, given, strict=True)
    ]
    raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(said))


def _refuse_zero_dilation(n: int, input: Any, dilation: Any, transposed: bool) -> None:
    """In the words of the library that PyTorch would ask: oneDNN for several images in float32."""
    if input.shape[0] > 1 and str(input.dtype) == "torch.float32":
        raise RuntimeError("non-positive dilation is not supported")
    names = ("depth", "height", "width")[3 - max(n, 2) :]
    values = (1, *dilation) if n == 1 else tuple(dilation)
    each = ", ".join(f"dilation_{a}: {d}" for a, d in zip(names, values, strict=True))
    raise RuntimeError(f"dilation should be greater than zero, but got {each if transposed else sizes_text(values)}")


def convolution_shape(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> tuple[int, ...]:  # fmt: skip
    """The shape of a convolution, all arguments checked in PyTorch's words."""
    n = weight.dim() - 2
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    extra = expanded(output_padding, n)
    _check_parameters(n, stride, padding, dilation, extra, groups)
    _check_channels(input, weight, bias, transposed, groups)
    if 0 in dilation:
        _refuse_zero_dilation(n, input, dilation, transposed)
    size, kernel = input.shape[2:], weight.shape[2:]
    if transposed:
        _check_output_padding(n, stride, dilation, extra)
        out = [
            (size[i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel[i] - 1) + extra[i] + 1 for i in range(n)
        ]
        if min(out, default=1) <= 0:
            raise RuntimeError(
                f"Given input size per channel: {_times(size)}. Calculated output size per channel: {_times(out)}. "
                "Output size is too small"
            )
        return input.shape[0], weight.shape[1] * groups, *out
    padded = [size[i] + 2 * padding[i] for i in range(n)]
    spread = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    if any(p < s for p, s in zip(padded, spread, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_times(padded)}. Kernel size: {_times(spread)}. Kernel size "
            "can't be greater than actual input size"
        )
    channels = weight.shape[0] if input.shape[1] else 0  # no channels in, none out, whatever the weight says
    return input.shape[0], channels, *[(padded[i] - spread[i]) // stride[i] + 1 for i in range(n)]


# Dtypes as C++ names them.
_TYPES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def c_type_name(dtype: Any) -> str:
    """A dtype as C++ names it: float, long, c10::Half."""
    name = str(dtype).removeprefix("torch.")
    return _TYPES.get(name) or _core.scalar_name(dtype)


def _legacy_name(t: Any) -> str:
    """What older texts call a tensor's kind: torch.FloatTensor, CPUBFloat16Type."""
    return "CPUBFloat16Type" if t.dtype is _core.bfloat16 else str(t.type())


def convolution_dtype(input: Any, weight: Any, bias: Any) -> Any:
    """The dtype that input, weight and bias have alike; RuntimeError where they differ."""
    if input.dtype != weight.dtype and (bias is None or bias.dtype == input.dtype):
        onednn = input.dtype is _core.bfloat16 or (
            input.dtype is _core.float32 and input.dim() > 2 and input.size(0) > 1
        )
        if onednn and input.is_cpu:
            raise RuntimeError(
                f"Input type ({_legacy_name(input)}) and weight type ({_legacy_name(weight)}) should be the same or input should "
                "be a MKLDNN tensor and weight is a dense tensor"
            )
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(input.dtype)} but found {_core.scalar_name(weight.dtype)}"
        )
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(
            f"Input type ({c_type_name(input.dtype)}) and bias type ({c_type_name(bias.dtype)}) should be the same"
        )
    return input.dtype
