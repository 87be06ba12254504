"""``torch.masked``: reductions over the elements that a mask keeps, and tensors that carry their mask."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.masked.filling import cast as _cast
from shim_torch._impl.masked.filling import count as _count
from shim_torch._impl.masked.filling import dims_of as _dims
from shim_torch._impl.masked.filling import filled as _filled
from shim_torch._impl.masked.filling import with_greatest as _with_greatest
from shim_torch._impl.masked.filling import with_least as _with_least
from shim_torch._impl.masked.masks import canonical_dim as _canonical_dim
from shim_torch._impl.masked.masks import combined as _combine_input_and_mask
from shim_torch._impl.masked.masks import identity as _reduction_identity
from shim_torch._impl.masked.masks import input_mask as _input_mask
from shim_torch._impl.masked.masks import output_mask as _output_mask
from shim_torch._impl.masked.masks import where as _where
from shim_torch._impl.native import _core

__all__ = [
    "MaskedTensor",
    "_canonical_dim",
    "_combine_input_and_mask",
    "_input_mask",
    "_output_mask",
    "_reduction_identity",
    "_where",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
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


def sum(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the kept elements; 0 where none is."""
    return _filled(_cast(input, dtype), mask, 0).sum(_dims(input, dim), keepdim, dtype=dtype)


def prod(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the kept elements; 1 where none is."""
    whole = not (input.dtype.is_floating_point or input.dtype.is_complex)
    found = _filled(_cast(input, _core.int64 if whole and dtype is None else dtype), mask, 1)
    for d in sorted((x % max(input.dim(), 1) for x in _dims(input, dim)), reverse=True):
        found = found.prod(d, keepdim)
    return found


def amax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest kept element; the dtype's least value where none is."""
    return _cast(_with_least("amax", input, mask).amax(_dims(input, dim), keepdim), dtype)


def amin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest kept element; the dtype's greatest value where none is."""
    return _cast(_with_greatest("amin", input, mask).amin(_dims(input, dim), keepdim), dtype)


def argmax(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the largest kept element is, as a number of the input's dtype."""
    return _with_least("argmax", input, mask).argmax(dim, keepdim).to(input.dtype if dtype is None else dtype)


def argmin(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Where the smallest kept element is, as a number of the input's dtype."""
    return _with_greatest("argmin", input, mask).argmin(dim, keepdim).to(input.dtype if dtype is None else dtype)


def _mean(input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any, mask: Any) -> Any:
    return sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dims, keepdim, mask)


def mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the kept elements; NaN where none is. ValueError for integers without ``dtype``."""
    wanted = input.dtype if dtype is None else dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{wanted}"
        )
    return _mean(input, _dims(input, dim), keepdim, dtype, mask)


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return correction
    return 1.0 if unbiased is None or unbiased else 0.0


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
    """The variance of the kept elements; ``correction`` (1, or 0 for ``unbiased=False``) is taken from their number."""
    less = _correction(unbiased, correction)
    dims = _dims(input, dim)
    x = _cast(input, dtype)
    centred = x - _mean(x, dims, True, None, mask)
    count = _count(input, dims, keepdim, mask)
    squares = centred * centred.conj() if x.is_complex() else centred * centred
    total = sum(squares, dims, keepdim=keepdim, mask=mask)
    return total / (count - less).clamp(min=0).to(total.dtype.to_real() if total.is_complex() else total.dtype)


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

    without = math.inf if ord == -math.inf else 0
    return shim_torch.linalg.vector_norm(_filled(input, mask, without), ord, _dims(input, dim), keepdim, dtype=dtype)


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """log of the sum of exp of the kept elements, in the input's dtype."""
    x = _cast(input, dtype)
    return _with_least("logsumexp", x, mask).logsumexp(_dims(input, dim), keepdim).to(x.dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """log(e^input + e^other), where each side counts if its mask keeps it."""
    import shim_torch

    first, second = _cast(input, dtype), _cast(other, dtype)
    a, b = (_filled(x, mask, -math.inf) for x, mask in ((first, input_mask), (second, other_mask)))
    return shim_torch.logaddexp(a, b)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax over the kept elements."""
    return _with_least("amax", _cast(input, dtype), mask).softmax(dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The log-softmax over the kept elements."""
    return _with_least("amax", _cast(input, dtype), mask).log_softmax(dim)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The softmax of the negated elements."""
    return (-_with_greatest("amin", _cast(input, dtype), mask)).softmax(dim)


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running sums of the kept elements, in the input's dtype."""
    return _filled(input, mask, 0).cumsum(dim, dtype=input.dtype if dtype is None else dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running products of the kept elements, in the input's dtype."""
    return _filled(input, mask, 1).cumprod(dim, dtype=input.dtype if dtype is None else dtype)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The median of the kept elements along ``dim``; NaN where none is, ValueError for integers.

    ``dtype`` is for integers alone, as in PyTorch.
    """
    if input.dtype.is_floating_point:
        return _filled(input, mask, math.nan).nanmedian(dim, keepdim).values
    found = median(input.to(_core.float32), dim, keepdim=keepdim, mask=mask)
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The kept elements over their norm, which counts as ``eps`` at least; 0 elsewhere."""
    kept = _filled(_cast(input, dtype), mask, 0)
    return kept / norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp(min=eps)


def _looks_at_layout(function: Any) -> Any:
    """Sparse tensors have reductions of their own."""
    from functools import wraps

    name = function.__name__

    @wraps(function)
    def masked(input: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(input, "_masked_data"):  # a MaskedTensor: its own mask is the one that counts
            input, kwargs["mask"] = input.get_data(), input.get_mask()
            if name == "mean":  # PyTorch divides by the number of all elements here
                input = input.masked_fill(~kwargs.pop("mask"), 0)
        if input.layout == _core.strided:
            mask = kwargs.get("mask")
            if mask is not None and mask.layout != _core.strided:
                kwargs["mask"] = mask.to_dense()
            return function(input, *args, **kwargs)
        from shim_torch._impl.masked.sparse import of_sparse as _of_sparse
        from shim_torch._impl.masked.sparse import reduced

        dim = kwargs.get("dim", args[0] if args else None) if _of_sparse(name) else None
        options = (kwargs.get("keepdim", False), kwargs.get("dtype"), kwargs.get("mask"))
        return reduced(name, input, _dims(input, dim), *options)

    return masked


for _function in (
    sum, prod, amax, amin, mean, argmax, argmin, var, std, norm, logsumexp, softmax, log_softmax, softmin, cumsum, cumprod,
    median, normalize,
):  # fmt: skip
    globals()[_function.__name__] = _looks_at_layout(_function)


_TENSORS = {
    "MaskedTensor": "core", "is_masked_tensor": "core", "as_masked_tensor": "creation", "masked_tensor": "creation",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _TENSORS:  # their tables ask for a hundred operators, so they are made when first wanted
        import importlib

        found = getattr(importlib.import_module(f"{__package__}.maskedtensor.{_TENSORS[name]}"), name)
        globals()[name] = found
        return found
    from shim_torch._impl.surface.missing import missing

    return missing("torch.masked", name)
