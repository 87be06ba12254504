"""Views, slices, chunks and joins of nested tensors."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import handles, is_nested
from shim_torch._impl.nested.properties import wrapped_dim
from shim_torch._impl.table.calls import torch
from shim_torch._impl.tensor.from_data import as_tensor
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


def _cut(func: Any, x: Any, dim: int, call: Any, name: str) -> Any:
    if isinstance(x, NestedTensor):
        if dim == x._ragged_idx:
            raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
        return tuple(x.with_values(v) for v in call(x._values, dim - 1))
    return tuple(x.of_parts(list(column)) for column in zip(*[call(p, dim - 1) for p in x.parts()], strict=True))


def _check_cut(x: Any, dim: int, name: str) -> None:
    if isinstance(x, NestedTensor):
        return
    if dim != x.dim() - 1:
        what = "Chunk" if name == "chunk" else "split_with_sizes"
        raise RuntimeError(f"{what} for nested tensors is currently only supported for the last dimension.")
    if not x.contiguous_parts():
        raise RuntimeError(f"{name} expects `self` to be contiguous.")


def _rows_of(x: NestedTensor, sizes: list[int]) -> tuple[Any, ...]:
    parts, found, at = x.parts(), [], 0
    for n in sizes:
        found.append(x.of_parts(parts[at : at + n]))
        at += n
    return tuple(found)


@handles("chunk")
def _chunk(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    n = args[1] if len(args) > 1 else kwargs["chunks"]
    dim = wrapped_dim(x, args[2] if len(args) > 2 else kwargs.get("dim", 0))
    if isinstance(x, NestedTensor) and dim == 0:
        size = -(-x.size(0) // n)
        return _rows_of(x, [min(size, x.size(0) - i) for i in range(0, x.size(0), size)])
    _check_cut(x, dim, "chunk")
    if not isinstance(x, NestedTensor) and any(p.shape[-1] % n for p in x.parts()):
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks."
        )
    return _cut(func, x, dim, lambda t, d: t.chunk(n, d), "chunk")


@handles("split", "split_with_sizes", "unsafe_split")
def _split(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    sizes = (
        args[1]
        if len(args) > 1
        else kwargs.get("split_size_or_sections", kwargs.get("split_size", kwargs.get("split_sizes")))
    )
    dim = wrapped_dim(x, args[2] if len(args) > 2 else kwargs.get("dim", 0))
    name = "split_with_sizes" if isinstance(sizes, (list, tuple)) else "split"
    if isinstance(x, NestedTensor) and dim == 0:
        if name == "split":
            sizes = [min(sizes, x.size(0) - i) for i in range(0, x.size(0), sizes)]
        return _rows_of(x, list(sizes))
    _check_cut(x, dim, "split_with_sizes")
    if not isinstance(x, NestedTensor) and name == "split_with_sizes":
        last = x.size(dim)
        if sum(sizes) != last:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {last} (input tensor's size at dimension -1)"
            )
    return _cut(func, x, dim, lambda t, d: t.split(sizes if name == "split" else list(sizes), d), name)


@handles("select")
def _select(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    dim = wrapped_dim(x, args[1] if len(args) > 1 else kwargs["dim"])
    index = args[2] if len(args) > 2 else kwargs["index"]
    if dim == 0:
        if not -x.size(0) <= index < x.size(0):
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {x.size(0)}")
        return x.parts()[index]
    if isinstance(x, NestedTensor) and dim != x._ragged_idx:
        return x.with_values(x._values.select(dim - 1, index), x._ragged_idx - (dim < x._ragged_idx))
    rows = [p.select(dim - 1, index) for p in x.parts()]
    return torch.stack(rows) if isinstance(x, NestedTensor) else x.of_parts(rows)


@handles("slice", "narrow")
def _slice(func: Any, args: Any, kwargs: Any) -> Any:
    x = args[0]
    names = ("dim", "start", "end", "step")
    given = dict(zip(names, args[1:], strict=False)) | kwargs
    dim = wrapped_dim(x, given.get("dim", 0))
    start, end = given.get("start") or 0, given.get("end")
    if func.__name__.startswith("narrow"):
        if not isinstance(x, NestedTensor):
            if dim:
                raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got dim={dim}")
            if not x.contiguous_parts():
                raise RuntimeError("narrow(): only contiguous nested tensors supported")
        end = start + given.get("end", given.get("length"))
    return _sliced(x, dim, slice(start, end, given.get("step")))


def _sliced(x: Any, dim: int, s: slice) -> Any:
    if s == slice(None):
        return x
    if dim == 0:
        made = x.of_parts(x.parts()[s])
        made._viewed = x
        return made
    at = (slice(None),) * (dim - 1) + (s,)
    if isinstance(x, NestedTensor) and dim != x._ragged_idx:
        return x.with_values(x._values[at])
    return x.of_parts([p[at] for p in x.parts()])


@handles("__getitem__")
def _getitem(func: Any, args: Any, kwargs: Any) -> Any:
    x, index = args
    entries = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [e for e in entries if e is Ellipsis]:
        at = next(i for i, e in enumerate(entries) if e is Ellipsis)
        missing = x.dim() - sum(e is not None and e is not Ellipsis for e in entries)
        entries[at : at + 1] = [slice(None)] * missing
    if (
        not isinstance(x, NestedTensor)
        and any(isinstance(e, slice) and e != slice(None) for e in entries[:1])
        or (
            not isinstance(x, NestedTensor)
            and isinstance(entries[0] if entries else None, slice)
            and Ellipsis is not index
        )
    ):
        raise NotImplementedError(
            "aten::slice.Tensor of a nested tensor of the strided layout: take its parts by number"
        )
    dim = 0
    for e in entries:
        if e is None:
            x, dim = x.unsqueeze(dim), dim + 1
        elif isinstance(e, slice):
            x, dim = (x[(slice(None),) * dim + (e,)] if not is_nested(x) else _sliced(x, dim, e)), dim + 1
        elif isinstance(e, int) and not isinstance(e, bool):
            x = x.select(dim, e)
        elif dim == 0 and isinstance(e, (list, _core.Tensor)) and len(entries) == 1:
            chosen = as_tensor(e)
            rows = chosen.nonzero().flatten() if chosen.dtype == _core.bool else chosen
            return x.of_parts([x.parts()[i] for i in rows.tolist()])
        else:
            raise NotImplementedError(
                f"torch.Tensor.__getitem__ of a nested tensor by {type(e).__name__} is not supported by shim-torch"
            )
    return x


@handles("__setitem__", "index_put_")
def _setitem(func: Any, args: Any, kwargs: Any) -> None:
    x, index, value = args[:3]
    if func.__name__ == "__setitem__" and isinstance(index, int):
        x.parts()[index].copy_(as_tensor(value))
        return
    if func.__name__ == "__setitem__" and isinstance(index, slice) and index == slice(None):
        for p in x.parts():
            p.copy_(as_tensor(value))
        return
    raise NotImplementedError(
        f"torch.{func.__name__} of a nested tensor is not supported by shim-torch: use its parts (unbind)"
    )


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


@handles("masked_select")
def _masked_select(func: Any, args: Any, kwargs: Any) -> Any:
    x, mask = args[0], args[1] if len(args) > 1 else kwargs["mask"]
    rows = zip(x.parts(), mask.parts() if is_nested(mask) else mask, strict=True)
    return torch.cat([p.masked_select(m) for p, m in rows])
