"""Views and joins of nested tensors."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import handles, is_nested
from shim_torch._impl.nested.properties import wrapped_dim
from shim_torch._impl.table.calls import torch
from shim_torch.nested._internal.nested_int import NestedInt
from shim_torch.nested._internal.nested_tensor import NestedTensor


def _list(given: Any) -> list[Any]:
    return list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else list(given)


@handles("transpose", "swapaxes", "swapdims")
def _transpose(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    d0 = wrapped_dim(x, args[1] if len(args) > 1 else kwargs["dim0"])
    d1 = wrapped_dim(x, args[2] if len(args) > 2 else kwargs["dim1"])
    if d0 == d1:
        return x
    if 0 in (d0, d1):
        if isinstance(x, NestedTensor):
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    if not isinstance(x, NestedTensor):
        return x.of_parts([p.transpose(d0 - 1, d1 - 1) for p in x.parts()])
    place = {d0: d1, d1: d0}.get(x._ragged_idx, x._ragged_idx)
    return x.with_values(x._values.transpose(d0 - 1, d1 - 1), place)


@handles("permute")
def _permute(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    given = _list(args[1:]) if len(args) > 1 else list(kwargs["dims"])
    if len(given) != x.dim():
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({x.dim()}) "
            f"does not match the length of the desired ordering of dimensions ({len(given)})."
        )
    dims = [wrapped_dim(x, d) for d in given]
    if len(set(dims)) != len(dims):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if dims[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    inner = [d - 1 for d in dims[1:]]
    if not isinstance(x, NestedTensor):
        return x.of_parts([p.permute(inner) for p in x.parts()])
    return x.with_values(x._values.permute(inner), dims.index(x._ragged_idx))


@handles("mT.get")
def _mt(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0].transpose(-2, -1)


@handles("unsqueeze", "unsqueeze_")
def _unsqueeze(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    dim = wrapped_dim(x, args[1] if len(args) > 1 else kwargs["dim"], 1)
    if dim == 0:
        raise RuntimeError("unsqueeze(): For nested tensors, dimension 0 cannot be unsqueezed")
    if not isinstance(x, NestedTensor):
        return x.of_parts([p.unsqueeze(dim - 1) for p in x.parts()])
    return x.with_values(x._values.unsqueeze(dim - 1), x._ragged_idx + (dim <= x._ragged_idx))


@handles("squeeze")
def _squeeze(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    given = args[1] if len(args) > 1 else kwargs.get("dim")
    if given is None:
        raise RuntimeError("For nested tensors, squeeze without the dim argument is not supported")
    dims = sorted({wrapped_dim(x, d) for d in (given if isinstance(given, (list, tuple)) else [given])}, reverse=True)
    for dim in dims:
        if isinstance(x, NestedTensor) and dim == x._ragged_idx:
            raise RuntimeError("squeeze(): not supported for NestedTensor on ragged dim")
        if dim == 0:
            raise RuntimeError(
                "squeeze(): not supported for NestedTensor on dim=0" if isinstance(x, NestedTensor)
                else "For nested tensors, squeezing dimension 0 is not supported at the moment"
            )  # fmt: skip
        if not isinstance(x, NestedTensor):
            if x.dim() == 2 and dim == 1:
                raise RuntimeError(
                    "For nested tensors, squeezing a nested tensor of singleton dimension 1 is not supported"
                )
            x = x.of_parts([p.squeeze(dim - 1) for p in x.parts()])
        elif x._size[dim] == 1:
            x = x.with_values(x._values.squeeze(dim - 1), x._ragged_idx - (dim < x._ragged_idx))
    return x


def _same_size(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, NestedInt) and a == b)


def _view_jagged(func: Any, x: NestedTensor, size: list[Any]) -> Any:
    if len(size) > 1 and not isinstance(size[0], NestedInt) and size[0] not in (x._size[0], -1):
        raise RuntimeError(f"view(): cannot view shape {x._size} as {tuple(size)}")
    places = [i for i, n in enumerate(size) if isinstance(n, NestedInt)]
    if not places:
        shape = [*size]
        known = math.prod(n for n in x._size[1:] if not isinstance(n, NestedInt))
        inner = math.prod(n for n in shape[1:] if n != -1)
        if -1 in shape[1:] and inner == known:
            place = shape.index(-1, 1)
            shape[place], places = x.symbol(), [place]
        else:
            raise RuntimeError(f"view(): cannot view shape {x._size} as {tuple(size)}")
        size = shape
    if len(places) != 1 or not _same_size(size[places[0]], x.symbol()):
        raise RuntimeError(f"view(): cannot view shape {x._size} as {tuple(size)}")
    place = places[0]
    ragged = x._values.shape[x._ragged_idx - 1]
    inner = [ragged if i == place else n for i, n in enumerate(size)][1:]
    return x.with_values(func(x._values, inner), place)


def _view_strided(func: Any, x: Any, size: list[Any]) -> Any:
    name = func.__name__.partition(".")[0].strip("_")
    if not x._parts:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if not size:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if size[0] != len(x._parts):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    if sum(n == -1 for n in size[1:]) > 1 and len(size) > x.dim():
        raise RuntimeError("only one dimension can be inferred")
    rows = []
    for p in x.parts():
        inner = [p.shape[i] if n == -1 and i < p.dim() else n for i, n in enumerate(size[1:])]
        rows.append(func(p, inner))
    return x.of_parts(rows)


@handles("view", "reshape", "_unsafe_view", "_reshape_alias")
def _view(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    if len(args) == 2 and isinstance(args[1], _core.dtype):
        return x.like([h.view(args[1]) for h in x.held()])
    size = _list(args[1:]) if len(args) > 1 else list(kwargs.get("shape", kwargs.get("size")))
    if isinstance(x, NestedTensor):
        return _view_jagged(torch.reshape if func.__name__ == "_unsafe_view" else func, x, size)
    return _view_strided(func, x, size)


@handles("reshape_as", "expand_as")
def _as_other(func: Any, args: Any, kwargs: Any) -> Any:
    x, other = args[0], args[1] if len(args) > 1 else kwargs["other"]
    if is_nested(x) and is_nested(other) and not isinstance(other, NestedTensor):
        return x.of_parts([func(p, q) for p, q in zip(x.parts(), other.parts(), strict=True)])
    return x.reshape(other.shape) if func.__name__ == "reshape_as" else x.expand(other.shape)


@handles("expand")
def _expand(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    size = _list(args[1:]) if len(args) > 1 else list(kwargs["size"])
    if not isinstance(x, NestedTensor):
        if not is_nested(x):
            symbol = next(n for n in size if isinstance(n, NestedInt))
            raise RuntimeError(
                f"expand(): cannot expand {tuple(x.shape)} to {tuple(size)}: {symbol} has no length here"
            )
        return x.of_parts([p.expand(size[1:]) for p in x.parts()])
    if len(size) != x.dim() or not (_same_size(size[x._ragged_idx], x.symbol()) or size[x._ragged_idx] == -1):
        raise RuntimeError(f"expand(): cannot expand shape {x._size} -> {tuple(size)}")
    inner = [-1 if i == x._ragged_idx else n for i, n in enumerate(size)][1:]
    return x.with_values(x._values.expand(inner))


@handles("unflatten")
def _unflatten(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    dim = wrapped_dim(x, args[1] if len(args) > 1 else kwargs["dim"])
    sizes = list(args[2] if len(args) > 2 else kwargs["sizes"])
    if dim == 0 or (isinstance(x, NestedTensor) and dim == x._ragged_idx):
        raise RuntimeError("unflatten(): not supported for NestedTensor on the batch and the ragged dimension")
    if not isinstance(x, NestedTensor):
        return x.of_parts([p.unflatten(dim - 1, sizes) for p in x.parts()])
    return x.with_values(
        x._values.unflatten(dim - 1, sizes), x._ragged_idx + (len(sizes) - 1 if dim < x._ragged_idx else 0)
    )


@handles("flatten")
def _flatten(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    start = wrapped_dim(x, args[1] if len(args) > 1 else kwargs.get("start_dim", 0))
    end = wrapped_dim(x, args[2] if len(args) > 2 else kwargs.get("end_dim", -1))
    if isinstance(x, NestedTensor):
        if start <= 0 <= end and start != end and not end < x._ragged_idx:
            raise RuntimeError("flatten(): not supported for NestedTensor on the batch dimension")
        if start <= x._ragged_idx <= end and start != end:
            raise RuntimeError("flatten(): not supported for NestedTensor on the ragged dimension")
        place = x._ragged_idx - (end - start if end < x._ragged_idx else 0)
        return x.with_values(x._values.flatten(start - 1, end - 1), place)
    return x.of_parts([p.flatten(start - 1, end - 1) for p in x.parts()])


def _cat_rows(tensors: list[Any], dim: int) -> Any:
    """Strided nested tensors whose parts differ in their first dimension alone, joined along another."""
    lead = tensors[0]
    if not all(t.contiguous_parts() for t in tensors):
        raise RuntimeError("cat(): only contiguous nested tensors are supported")
    if any(t.irregular(d) for t in tensors for d in range(2, t.dim())):
        raise RuntimeError("cat(): only nested tensors with a single ragged dim next to the batch dim are supported")
    if any(
        t.dim() != lead.dim() or any(t.size(d) != lead.size(d) for d in range(2, t.dim()) if d != dim)
        or [p.shape[0] for p in t._parts] != [p.shape[0] for p in lead._parts] or dim == 1
        for t in tensors
    ):  # fmt: skip
        raise RuntimeError(
            "cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim"
        )
    return lead.of_parts([torch.cat(list(rows), dim - 1) for rows in zip(*(t.parts() for t in tensors), strict=True)])


@handles("cat", "concat", "concatenate")
def _cat(func: Any, args: Any, kwargs: Any) -> Any:
    tensors = list(args[0] if args else kwargs["tensors"])
    if not all(is_nested(t) for t in tensors):
        raise RuntimeError("expected each tensor in given list to be nested")
    lead = tensors[0]
    dim = wrapped_dim(lead, args[1] if len(args) > 1 else kwargs.get("dim", 0))
    if isinstance(lead, NestedTensor) and dim:
        if dim == lead._ragged_idx or any(
            t.symbol() != lead.symbol() or t._ragged_idx != lead._ragged_idx for t in tensors
        ):
            raise RuntimeError(
                "cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim"
            )
        return lead.with_values(torch.cat([t._values for t in tensors], dim - 1))
    if dim:
        return _cat_rows(tensors, dim)
    if not isinstance(lead, NestedTensor) and not all(t.contiguous_parts() for t in tensors):
        raise RuntimeError("only contiguous nested tensors are supported")
    return lead.of_parts([p for t in tensors for p in t.parts()])


@handles("broadcast_tensors")
def _broadcast(func: Any, args: Any, kwargs: Any) -> Any:
    tensors = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    lead = next(t for t in tensors if is_nested(t))
    return tuple(t if is_nested(t) else torch.zeros_like(lead) + t for t in tensors)
