"""Sums, means, extremes, softmax and normalisations of nested tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import RULES, handles, is_nested
from shim_torch._impl.nested.properties import wrapped_dim
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.operators import named
from shim_torch.nested._internal.nested_tensor import NestedTensor


def _dims_of(x: Any, given: Any) -> list[int]:
    return [wrapped_dim(x, d) for d in (given if isinstance(given, (list, tuple)) else [given])]


def _elements(x: Any) -> Any:
    """All elements in one row."""
    if isinstance(x, NestedTensor) and x._lengths is None:
        return x._values
    return torch.cat([p.reshape(-1) for p in x.parts()])


def _wrapped(found: Any, make: Any) -> Any:
    """Of values and indices, each."""
    return type(found)(tuple(make(f) for f in found)) if isinstance(found, tuple) else make(found)


def _check_rows(name: str, x: NestedTensor, dims: list[int]) -> None:
    ragged, batch = x._ragged_idx in dims, 0 in dims
    if batch and not ragged:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for NestedTensor"
        )
    if ragged and x._lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"
        )
    if ragged and not batch and len(dims) > 1:
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for NestedTensor"
        )


def _reduce_jagged(func: Any, x: NestedTensor, dims: list[int], keepdim: bool, kwargs: Any, several: bool) -> Any:
    _check_rows(func.__name__.partition(".")[0], x, dims)

    def call(t: Any, at: list[int], keep: bool) -> Any:
        if "ord" in kwargs:
            return func(t, dim=at, keepdim=keep, **kwargs)
        return func(t, at if several else at[0], keepdim=keep, **kwargs)

    inner = [d - 1 for d in dims if d]
    if 0 in dims:
        found = call(x._values, inner, keepdim)
        return _wrapped(found, lambda f: f.unsqueeze(0) if keepdim else f)
    if x._ragged_idx in dims:
        rows = [call(p, inner, keepdim) for p in x.parts()]
        if rows and isinstance(rows[0], tuple):
            return type(rows[0])(tuple(torch.stack(list(column)) for column in zip(*rows, strict=True)))
        return torch.stack(rows)
    before = sum(d < x._ragged_idx for d in dims)
    place = x._ragged_idx - (0 if keepdim else before)
    return _wrapped(call(x._values, inner, keepdim), lambda f: x.with_values(f, place))


def _reduce_strided(func: Any, x: Any, dims: list[int], keepdim: bool, kwargs: Any, several: bool) -> Any:
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if dims[0] != x.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dims[0]} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return x.of_parts([func(p, [-1] if several else -1, keepdim=True, **kwargs) for p in x.parts()])


def _is_reduction(name: str) -> bool:
    return any(record.traits.get("nested") == "reduction" for record in named(name))


def _reduce(func: Any, args: Any, kwargs: Any) -> Any:
    x, kwargs = args[0], dict(kwargs)
    name = func.__name__.partition(".")[0]
    rest = list(args[1:])
    if name == "linalg_vector_norm":
        kwargs["ord"] = rest.pop(0) if rest else kwargs.get("ord", 2)
    if name == "norm":
        kwargs["p"] = rest.pop(0) if rest else kwargs.get("p", 2)
    if name in ("max", "min") and rest and isinstance(rest[0], _core.Tensor):
        from shim_torch._impl.nested.pointwise import pointwise

        return pointwise(func, args, kwargs)
    dim = rest.pop(0) if rest else kwargs.pop("dim", None)
    keepdim = rest.pop(0) if rest else kwargs.pop("keepdim", False)
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return func(_elements(x), **kwargs)
    dims = _dims_of(x, dim)
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim {dims[-1]} appears multiple times in the list of dims")
    several = _takes(name, "int[1]") or (isinstance(dim, (list, tuple)) and _takes(name, "int[]"))
    call = (lambda t, at, keepdim: func(t, at)) if name == "count_nonzero" else func
    if call is not func:
        call.__name__ = name
    reduce = _reduce_jagged if isinstance(x, NestedTensor) else _reduce_strided
    return reduce(call, x, dims, bool(keepdim), kwargs, several)


def _takes(name: str, dims: str) -> bool:
    """Whether an overload of the operator has an argument of that type."""
    return any(f"{dims} dim" in record.schema or f"{dims}? dim" in record.schema for record in named(name))


RULES.append((_is_reduction, _reduce))


def _per_row(func: Any, x: Any, dim: int, call: Any) -> Any:
    """A function that keeps sizes, along one dimension of every part."""
    name = func.__name__.partition(".")[0].strip("_")
    if isinstance(x, NestedTensor):
        if dim == 0:
            raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
        if dim == x._ragged_idx:
            if x._lengths is not None:
                raise RuntimeError(
                    f"{name}(): not supported where lengths is not None if reducing across the ragged dimension for NestedTensor"
                )
            if x._ragged_idx > 1:
                raise RuntimeError(
                    f"{name}(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor"
                )
            return x.of_parts([call(p, dim - 1) for p in x.parts()])
        return x.with_values(call(x._values, dim - 1))
    if dim == 0:
        raise RuntimeError(f"Cannot apply {name} across nested dimension 0")
    return x.of_parts([call(p, dim - 1) for p in x.parts()])


@handles("softmax", "log_softmax", "_softmax", "_log_softmax", "softmin", "cumsum", "cumprod", "logcumsumexp", "flip")
def _softmax(func: Any, args: Any, kwargs: Any) -> Any:
    x, kwargs = args[0], dict(kwargs)
    dim = args[1] if len(args) > 1 else kwargs.pop("dim", kwargs.pop("dims", None))
    kwargs.pop("_stacklevel", None)
    rest = [a for a in args[2:] if a is None or isinstance(a, _core.dtype)] if func.__name__ != "_softmax" else args[2:]
    if "dtype" in kwargs:
        rest = []
    if not isinstance(x, NestedTensor) and not x._parts:
        return x
    (dim,) = _dims_of(x, dim)
    return _per_row(func, x, dim, lambda t, d: func(t, [d] if func.__name__ == "flip" else d, *_dtype(rest), **kwargs))


def _dtype(rest: Any) -> list[Any]:
    return [r for r in rest if r is not None]


@handles("layer_norm", "rms_norm", "native_layer_norm")
def _layer_norm(func: Any, args: Any, kwargs: Any) -> Any:
    x, shape, *more = args
    if not is_nested(x):  # a part, normalized over sizes that were said of the whole
        return func(x, x.shape[x.dim() - len(shape) :], *more, **kwargs)
    name = func.__name__.partition(".")[0]
    if isinstance(x, NestedTensor):
        if x.dim() <= 2:
            raise RuntimeError(f"{name}(): not supported for NestedTensor objects with 2 or fewer dimensions")
        if len(shape) >= x.dim():
            raise RuntimeError(f"{name}(): not supported when normalizing over the batch dimension for NestedTensor")
        if len(shape) >= x.dim() - x._ragged_idx + 1:
            if x._lengths is not None:
                raise RuntimeError(
                    f"{name}(): not supported where lengths is not None if operating on the ragged dimension for NestedTensor"
                )
            if x._ragged_idx > 1:
                raise RuntimeError(
                    f"{name}(): not supported when normalizing over the ragged dimension for ragged_idx > 1 for NestedTensor"
                )
            return x.of_parts([func(p, p.shape[p.dim() - len(shape) :], *more, **kwargs) for p in x.parts()])
        return x.with_values(func(x._values, tuple(shape), *more, **kwargs))
    if any(x.irregular(d) for d in range(x.dim() - len(shape), x.dim())) or len(shape) >= x.dim():
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for i, n in enumerate(shape):
        if x.size(x.dim() - len(shape) + i) != n:
            raise RuntimeError(
                f"The shape at dimension {i} of normalized_shape is {n}, that of the input {x.size(x.dim() - len(shape) + i)}"
            )
    return x.of_parts([func(p, tuple(shape), *more, **kwargs) for p in x.parts()])
