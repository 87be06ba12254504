"""``torch.masked``: reductions over the elements that a mask keeps; masked tensors themselves are not supported."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _filled(input: Any, mask: Any, value: float) -> Any:
    return input if mask is None else input.masked_fill(~mask.expand_as(input), value)


def _dims(input: Any, dim: Any) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input.dim()))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _limit(input: Any, sign: int, name: str) -> float:
    import shim_torch

    if input.dtype.is_floating_point or input.dtype.is_complex:
        return sign * math.inf
    if input.dtype is shim_torch.bool:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    info = shim_torch.iinfo(input.dtype)
    return info.max if sign > 0 else info.min


def _bounded(input: Any, mask: Any, sign: int, name: str) -> Any:
    return input if mask is None else _filled(input, mask, _limit(input, sign, name))


def sum(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the kept elements; 0 where none is."""
    return _filled(input if dtype is None else input.to(dtype), mask, 0).sum(_dims(input, dim), keepdim)


def prod(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the kept elements; 1 where none is."""
    import shim_torch

    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = shim_torch.int64
    found = _filled(input if dtype is None else input.to(dtype), mask, 1)
    dims = _dims(input, dim)
    for d in sorted((x % max(input.dim(), 1) for x in dims), reverse=True):
        found = found.prod(d, keepdim)
    return found


def amax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest kept element; -inf where none is."""
    return _bounded(input, mask, -1, "amax").amax(_dims(input, dim), keepdim)


def amin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest kept element; inf where none is."""
    return _bounded(input, mask, 1, "amin").amin(_dims(input, dim), keepdim)


def argmax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the largest kept element is."""
    return _bounded(input, mask, -1, "argmax").argmax(dim, keepdim).to(input.dtype if dtype is None else dtype)


def argmin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the smallest kept element is."""
    return _bounded(input, mask, 1, "argmin").argmin(dim, keepdim).to(input.dtype if dtype is None else dtype)


def _count(input: Any, dims: tuple[int, ...], keepdim: bool, mask: Any) -> Any:
    import shim_torch

    kept = shim_torch.ones_like(input, dtype=shim_torch.int64) if mask is None else mask.expand_as(input).long()
    return kept.sum(dims, keepdim)


def mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the kept elements; NaN where none is."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype}"
        )
    dims = _dims(input, dim)
    return sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dims, keepdim, mask)


def _correction(unbiased: Any, correction: Any) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return correction
    return 1 if unbiased is None else int(unbiased)


def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The variance of the kept elements."""
    import shim_torch

    less = _correction(unbiased, correction)
    dims = _dims(input, dim)
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = shim_torch.float32
    x = input if dtype is None else input.to(dtype)
    centred = x - mean(x, dims, keepdim=True, mask=mask)
    count = _count(input, dims, keepdim, mask)
    squares = centred * centred.conj() if x.is_complex() else centred * centred
    return sum(squares, dims, keepdim=keepdim, mask=mask) / (count - less).clamp(min=0)


def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The standard deviation of the kept elements."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def norm(
    input: Any, ord: float = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    """The vector norm of the kept elements."""
    import shim_torch

    return shim_torch.linalg.vector_norm(_filled(input, mask, math.inf if ord == -math.inf else 0), ord, _dims(input, dim), keepdim, dtype=dtype)


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """log of the sum of exp of the kept elements."""
    x = input if dtype is None else input.to(dtype)
    return _bounded(x, mask, -1, "logsumexp").logsumexp(_dims(input, dim), keepdim).to(x.dtype)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Any:
    """log(exp(input) + exp(other)) where a masked element counts as exp(-inf)."""
    import shim_torch

    dtype = input.dtype if dtype is None else dtype
    x, y = input.to(dtype), other.to(dtype)
    return shim_torch.logaddexp(_filled(x, input_mask, -math.inf), _filled(y, other_mask, -math.inf)).to(dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax over the kept elements."""
    return _filled(input if dtype is None else input.to(dtype), mask, -math.inf).softmax(dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The log-softmax over the kept elements."""
    return _filled(input if dtype is None else input.to(dtype), mask, -math.inf).log_softmax(dim)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax of the negated elements."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running sums of the kept elements."""
    return _filled(input, mask, 0).cumsum(dim, dtype=input.dtype if dtype is None else dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running products of the kept elements."""
    return _filled(input, mask, 1).cumprod(dim, dtype=input.dtype if dtype is None else dtype)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The median of the kept elements along ``dim``; NaN where none is."""
    x = input if dtype is None else input.to(dtype)
    if not x.is_floating_point():
        if mask is not None and not bool(mask.all()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        return x.median(dim, keepdim).values
    return _filled(x, mask, math.nan).nanmedian(dim, keepdim).values


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The kept elements over their norm, which counts as ``eps`` at least; 0 elsewhere."""
    kept = _filled(input if dtype is None else input.to(dtype), mask, 0)
    return kept / norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp(min=eps)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    raise NotImplementedError(
        "torch.masked.masked_tensor is not supported by shim-torch; the functions here take mask="
    )


as_masked_tensor = masked_tensor


def is_masked_tensor(obj: Any) -> bool:
    """Whether something is a masked tensor: no."""
    return False


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.masked", name)
