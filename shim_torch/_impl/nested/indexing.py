"""Slices, chunks, selections and assignments of nested tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import handles, is_nested
from shim_torch._impl.nested.properties import wrapped_dim
from shim_torch._impl.table.calls import torch
from shim_torch._impl.tensor.from_data import as_tensor
from shim_torch.nested._internal.nested_tensor import NestedTensor


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
                f"_core.Tensor.__getitem__ of a nested tensor by {type(e).__name__} is not supported by shim-torch"
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


@handles("masked_select")
def _masked_select(func: Any, args: Any, kwargs: Any) -> Any:
    x, mask = args[0], args[1] if len(args) > 1 else kwargs["mask"]
    rows = zip(x.parts(), mask.parts() if is_nested(mask) else mask, strict=True)
    return torch.cat([p.masked_select(m) for p, m in rows])
