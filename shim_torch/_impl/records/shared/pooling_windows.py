"""Windows of pooling: their settings as PyTorch checks them, and how many fit."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.arrays.windows import expanded
from shim_torch._impl.records.shared.formulas import sizes_text

_AXES = ("T", "H", "W")


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows fit; in ceil mode the last may hang over, but must start inside or in the left padding."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    out = -(-room // stride) + 1 if ceil_mode else room // stride + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1
    return out


def pool_settings(name: str, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any = None) -> tuple[Any, ...]:
    """Kernel, stride, padding and dilation for n dims, checked in PyTorch's words."""
    words = {
        1: "a single int, or a tuple of one int",
        2: "a single int, or a tuple of two ints",
        3: "a single int, or a tuple of three ints",
    }
    for what, value in (("kernel_size", kernel), ("padding", padding), ("dilation", dilation or (1,))):
        if len(value) not in (1, n):
            raise RuntimeError(f"{name}: {what} must {'either ' if what == 'kernel_size' else ''}be {words[n]}")
    if len(stride) not in (0, 1, n):
        raise RuntimeError(f"{name}: stride must either be omitted, {words[n]}")
    kernel, padding, dilation = expanded(kernel, n), expanded(padding, n), expanded(dilation or (1,), n)
    stride = expanded(stride, n) if stride else kernel
    if name == "max_pool1d":
        for what, (value,) in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
            if value <= 0:
                raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0 or min(stride) <= 0:
        each = " ".join(f"k{a}: {k} d{a}: {s}" for a, k, s in zip(_AXES[-n:], kernel, stride, strict=True))
        raise RuntimeError(f"kernel size and stride should be greater than zero, but got {each}")
    if min(dilation) <= 0:
        each = " ".join(f"dilation{a}: {d}" for a, d in zip(_AXES[-n:], dilation, strict=True))
        raise RuntimeError(f"dilation should be greater than zero, but got {each}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
    return kernel, stride, padding, dilation


def pool_shape(name: str, n: int, self: Any, settings: Any, ceil_mode: bool) -> tuple[int, ...]:
    """The shape of a pooling, with PyTorch's texts for inputs that it does not take."""
    shape = tuple(self.shape)
    if n == 2 and (len(shape) not in (3, 4) or 0 in shape[-3:]):
        if len(shape) not in (3, 4):
            raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{sizes_text(shape)}"
        )
    if n == 3 and len(shape) in (4, 5) and 0 in shape[-4:] and name.startswith("max_pool3d"):
        raise RuntimeError(
            "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive length, but "
            f"input has a shape of {sizes_text(shape)} and non-batch dimension 0 has length zero!"
        )
    if n == 3 and (len(shape) not in (4, 5) or 0 in shape[-4:]):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if n == 1 and (len(shape) not in (2, 3) or 0 in shape[-2:]):
        raise RuntimeError(
            f"{name.removesuffix('()')}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{sizes_text(shape)}"
        )
    sizes = shape[-n:]
    out = [pooled_size(sizes[i], *[s[i] for s in settings], ceil_mode) for i in range(n)]  # type: ignore[call-arg]
    if min(out) < 1:
        if n == 1 and name == "max_pool1d()":
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {out[0]}")
        before, after = ((*shape[-n - 1 : -n], *[1] * (2 - n), *s) for s in (sizes, out))
        shown = ["x".join(map(str, s)) for s in (before, after)]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )
    return (*shape[:-n], *out)


def check_some(name: str, n: int, g: Any) -> None:
    """RuntimeError where a gradient has no elements along the pooled dims."""
    for d in range(g.dim() - n, g.dim()):
        if not g.size(d):
            raise RuntimeError(
                f"{name}(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes "
                f"{sizes_text(g.shape)} with dimension {d} being empty"
            )


def check_adaptive(name: str, n: int, shape: Any, output_size: Any, colon: str) -> None:
    """RuntimeError for dims and sizes that an adaptive pooling does not take."""
    if len(output_size) != n:
        if n == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
        if "max" in name:
            raise RuntimeError(f"{name}(): internal error: output_size.size() must be {n}")
        raise RuntimeError(f"{name}: output_size must be {n}")
    if n == 1 and len(shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon}{sizes_text(shape)}")
    if min(output_size) < 0:
        one = (1,) if n == 1 else ()
        if "max" in name:
            wrong = next(o for o in output_size if o < 0)
            sizes = sizes_text((*shape[:-n], *one, *output_size))
            raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {sizes}")
        given = (
            f"{output_size[0]}, {output_size[1]},{output_size[2]}"
            if n == 3
            else ", ".join(map(str, (*one, *output_size)))
        )
        raise RuntimeError(
            f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received {{{given}}}"
        )
    count = 1
    for size in (*shape[:-n], *output_size):
        count *= max(size, 1)
    if count >= 1 << 61:
        sizes = sizes_text((*[1] * (1 if n == 1 and "max" in name else 0), *shape[:-n], *output_size))
        raise RuntimeError(f"Storage size calculation overflowed with sizes={sizes}")
    first = 1 if n == 3 or "max" in name else len(shape) - n  # averages over one or two dims may have no channels
    for d in range(first, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{sizes_text(shape)} with dimension {d} being empty"
            )
