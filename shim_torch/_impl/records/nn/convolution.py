"""Convolutions as one operator, with its gradients: of one to three dims, transposed, in groups."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.arrays.windows import add_windows, expanded, padded, windows
from shim_torch._impl.records.shared.formulas import operator, sizes_text
from shim_torch._impl.table.formats import format_of_strides, in_format, suggested_format
from shim_torch._impl.table.record import composite, op
from shim_torch._utils import _scalar as scalar_name


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


def _convolution_shape(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> tuple[int, ...]:  # fmt: skip
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


def _type(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return _TYPES.get(name) or scalar_name(dtype)


def _convolution_dtype(input: Any, weight: Any, bias: Any) -> Any:
    if input.dtype != weight.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(input.dtype)} but found {scalar_name(weight.dtype)}")
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({_type(input.dtype)}) and bias type ({_type(bias.dtype)}) should be the same")
    return input.dtype


def _columns(xp: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    """The windows as columns (batch, groups, channels · kernel, windows); the innermost dim is a line of the image."""
    n, batch, per = len(out), x.shape[0], x.shape[1] // groups
    view = windows(xp, padded(xp, x, padding), kernel, stride, dilation, out)
    view = view.reshape(batch, groups, per, *out, *kernel)
    count = per
    for k in kernel:
        count *= k
    return view.transpose(0, 1, 2, *range(3 + n, 3 + 2 * n), *range(3, 3 + n)).reshape(batch, groups, count, -1)


def _forward(xp: Any, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    batch = x.shape[0]
    if not x.shape[1]:
        return xp.zeros((batch, 0, *out), x.dtype)
    if not x.size or not w.size or 0 in out:
        return xp.zeros((batch, w.shape[0], *out), x.dtype)
    columns = _columns(xp, x, w.shape[2:], stride, padding, dilation, groups, out)
    product = xp.matmul(w.reshape(1, groups, w.shape[0] // groups, -1), columns)
    return product.reshape(batch, w.shape[0], *out)


def _transposed(xp: Any, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    n, batch = len(out), x.shape[0]
    kernel, per, size = w.shape[2:], w.shape[1], x.shape[2:]
    if not x.size or not w.size:
        return xp.zeros((batch, per * groups, *out), x.dtype)
    left = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(-1, -2)  # (groups, per * kernel, in)
    product = xp.matmul(left[None], x.reshape(batch, groups, w.shape[0] // groups, -1))
    parts = product.reshape(batch, groups * per, *kernel, *size)
    parts = parts.transpose(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return add_windows(xp, parts, out, stride, dilation, padding)


def _input_grad(g, input_shape, weight, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.dim() - 2
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    w = weight.conj() if weight.is_complex() else weight
    import shim_torch

    if not transposed and not input_shape[1]:  # without channels the output has none either: it depends on nothing
        return g.new_zeros(tuple(input_shape))
    convolution = shim_torch.ops.aten.convolution
    if transposed:
        found = convolution(g, w, None, stride, padding, dilation, False, (0,) * n, groups)
        return _cut(found, input_shape)
    size, kernel = input_shape[2:], weight.shape[2:]
    extra = [
        size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 - (g.size(2 + i) - 1) * stride[i] for i in range(n)
    ]
    return convolution(g, w, None, stride, padding, dilation, True, extra, groups)


def _cut(found, shape):
    """Without the windows that come from no input: an output padding as large as the stride adds them."""
    whole = found
    for d in range(2, len(shape)):
        found = found.narrow(d, 0, shape[d]) if found.size(d) > shape[d] else found
    return found if found is whole else found.contiguous()


def _bias_grad(g, bias_shape):
    return g.sum([0, *range(2, g.dim())]) if g.size(1) == bias_shape[0] else g.new_zeros(tuple(bias_shape))


def _weight_grad(g, input, weight_shape, stride, padding, dilation, transposed, groups):
    if not transposed and not weight_shape[1]:
        return g.new_zeros(tuple(weight_shape))
    x = input.conj() if input.is_complex() else input
    if transposed:  # the roles of input and gradient change
        x, g = g, x
    return operator("_convolution_weight")(x, g, tuple(weight_shape[2:]), stride, padding, dilation, groups)


def _weight_input_grad(g, input_shape, grad_output, stride, padding, dilation, groups):
    if g.is_complex():  # a plain product of the two: what _input_grad takes for the weight must not be conjugated
        grad_output, g = grad_output.conj(), g.conj()
    return _input_grad(grad_output, input_shape, g, stride, padding, dilation, False, (0,), groups)


@op(
    "_convolution_weight(Tensor input, Tensor grad_output, int[] kernel, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    native="_convolution_weight",
    shape=lambda input, grad_output, kernel, groups: (grad_output.shape[1], input.shape[1] // groups, *kernel),
    dtype=lambda input: input.dtype,
    function=False,
    method=False,
    grad={
        "input": _weight_input_grad,
        "grad_output": lambda g, input, grad_output_shape, stride, padding, dilation, groups: _cut(
            operator("convolution")(
                input.conj() if input.is_complex() else input, g, None, stride, padding, dilation, False, (0,), groups
            ),
            grad_output_shape,
        ),
    },
)
def _convolution_weight(xp, input, grad_output, kernel, stride, padding, dilation, groups):
    """The gradient of a convolution's weight: the gradient times the columns of windows, summed over the batch."""
    n, batch, out = len(kernel), input.shape[0], grad_output.shape[2:]
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    per, rows = input.shape[1] // groups, grad_output.shape[1] // groups
    if not grad_output.size or not input.size:
        return xp.zeros((grad_output.shape[1], per, *kernel), input.dtype)
    columns = _columns(xp, input, kernel, stride, padding, dilation, groups, out)
    product = xp.matmul(grad_output.reshape(batch, groups, rows, -1), columns.swapaxes(-1, -2)).sum(axis=0)
    return product.reshape(grad_output.shape[1], per, *kernel)


# Gradients lie in channels_last where the input or the weight does, whatever the gradient that comes in lies in.


def _kept_input_grad(
    g, input_shape, input_strides, weight, stride, padding, dilation, transposed, output_padding, groups
):
    found = _input_grad(g, input_shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    return in_format(found, format_of_strides(input_shape, input_strides) or suggested_format((weight,)))


def _kept_weight_grad(g, input, weight_shape, weight_strides, stride, padding, dilation, transposed, groups):
    found = _weight_grad(g, input, weight_shape, stride, padding, dilation, transposed, groups)
    return in_format(found, format_of_strides(weight_shape, weight_strides) or suggested_format((input,)))


# Several gradients at once are one operator, so that a dispatch mode sees what PyTorch's shows it.


def _all_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    settings = (sizes, stride, padding, dilation, transposed, output_padding, groups)
    return operator("convolution_backward")(g, input, weight, *settings, (True, True, True))


def _input_weight_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = (None, stride, padding, dilation, transposed, output_padding, groups)
    return operator("convolution_backward")(g, input, weight, *settings, (True, True, False))[:2]


def _weight_bias_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    settings = (sizes, stride, padding, dilation, transposed, output_padding, groups)
    return operator("convolution_backward")(g, input, weight, *settings, (False, True, True))[1:]


@op("convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    native="convolution", shape=_convolution_shape, dtype=_convolution_dtype, out=True, method=False, follows=("input", "weight"),
    grad={"input": _kept_input_grad, "weight": _kept_weight_grad,
          "bias": _bias_grad},
    fused={"input, weight, bias": _all_grads, "input, weight": _input_weight_grads,
           "weight, bias": _weight_bias_grads})  # fmt: skip
def convolution(xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution of (N, C, *size) with (O, C / groups, *kernel), or the transposed one with (C, O / groups, *kernel).

    Errors:  RuntimeError for channels, dtypes, kernels larger than the padded input
    Source:  torch.convolution
    """
    n = weight.ndim - 2
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    size, kernel = input.shape[2:], weight.shape[2:]
    spread = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    if transposed:
        extra = expanded(output_padding, n)
        out = [(size[i] - 1) * stride[i] - 2 * padding[i] + spread[i] + extra[i] for i in range(n)]
        y = _transposed(xp, input, weight, stride, padding, dilation, groups, out)
    else:
        out = [(size[i] + 2 * padding[i] - spread[i]) // stride[i] + 1 for i in range(n)]
        y = _forward(xp, input, weight, stride, padding, dilation, groups, out)
    return y if bias is None or not y.size else y + bias.reshape(1, -1, *[1] * n)


@composite(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    function=False, method=False)  # fmt: skip
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    wanted = tuple(output_mask)
    settings = (stride, padding, dilation, transposed)
    gi = gw = gb = None
    kept = suggested_format((input, weight))
    if wanted[0]:
        gi = in_format(_input_grad(grad_output, input.shape, weight, *settings, output_padding, groups), kept)
    if wanted[1]:
        gw = in_format(_weight_grad(grad_output, input, weight.shape, *settings, groups), kept)
    if wanted[2]:
        gb = _bias_grad(grad_output, bias_sizes or grad_output.shape[1:2])
    return gi, gw, gb
