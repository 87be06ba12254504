"""Indexing by tensors of indices and masks. ``Tensor.__getitem__`` and ``__setitem__`` are in ``shim_torch._impl.tensor.indexing``."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import alone_on_cuda
from shim_torch._impl.records.shared.indices import add_at
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import same_order, type_name


def _places(self: Any, indices: Any) -> list[Any]:
    """One index tensor, or None, for every dim that ``indices`` covers: masks become the places where they are true."""
    if len(indices) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})")
    found: list[Any] = []
    for index in indices:
        if index is None:
            found.append(None)
        elif index.dtype in (_core.bool, _core.uint8):
            if index.dtype is _core.uint8:
                warnings.warn(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                    stacklevel=3,
                )
            _check_mask(self, index, len(found))
            found += index.to(self.device).nonzero(as_tuple=True)
        elif index.dtype in (_core.int64, _core.int32):
            found.append(index if index.device == self.device else index.to(self.device))
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if len(found) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(found)})")
    return found


def _check_mask(self: Any, mask: Any, dim: int) -> None:
    for i, n in enumerate(mask.shape):
        if dim + i >= self.dim() or n != self.size(dim + i):
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {dim + i}"
            )


def _indexed_shape(self: Any, indices: Any) -> tuple[int, ...]:
    """The result shape of advanced indexing: index dims in place if adjacent, else first."""
    at = [i for i, t in enumerate(indices) if t is not None]
    if not at:
        return tuple(self.shape)
    try:
        shape = _core.broadcast_shapes([indices[i].shape for i in at])
    except RuntimeError:
        shapes = ", ".join(str(list(indices[i].shape)) for i in at)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    adjacent = at == list(range(at[0], at[-1] + 1))
    rest = [n for d, n in enumerate(self.shape) if d >= len(indices) or indices[d] is None]
    first = at[0] if adjacent else 0
    covered = [n for d, n in enumerate(self.shape) if d in at]
    if 0 in covered and 0 not in shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    return (*rest[:first], *shape, *rest[first:])


def _key(xp: Any, self: Any, indices: Any) -> tuple[Any, ...]:
    """The indices as NumPy takes them, within bounds."""
    order = -1
    for d, index in enumerate(indices):
        if index is None:
            continue
        order += 1
        n = self.shape[d]
        if index.size and xp.__name__ == "numpy":
            low, high = int(index.min()), int(index.max())
            if low < -n or high >= n:
                raise IndexError(
                    f"index {low if low < -n else high} is out of bounds for dimension {order} with size {n}"
                )
    return tuple(slice(None) if i is None else i for i in indices)


@composite(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    foreseen="any",
    function=False,
    method=False,
    native="index",
)
def index(self, indices):
    """``self[indices]``; None keeps a dim, masks stand for as many dims as they have."""
    return aten._index_at(self, _places(self, indices))


def _index_order(self: Any, indices: Any) -> tuple[tuple[int, ...] | None]:
    """The result's dims as they lie in memory: as an iterator over ``self`` and the indices has them."""
    given = [i for i in indices if i is not None]
    if self.is_contiguous() and all(i.is_contiguous() for i in given):
        return (None,)
    at = [d for d, i in enumerate(indices) if i is not None]
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    shape = _indexed_shape(self, indices)
    kept = [s for d, s in enumerate(self.stride()) if d not in at]
    strides = _core.indexed_strides(shape, kept, first, given)
    return (tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d))),)


def _spread(g: Any, self_shape: Any, indices: Any) -> Any:
    zeros = g.new_zeros(self_shape)
    if alone_on_cuda(g):  # zeros of nobody else's: not copied before they are added to
        return aten._index_put_at_(zeros, indices, g, True)
    return aten.index_put(zeros, indices, g, True)


@op(
    "_index_at(Tensor self, Tensor?[] indices) -> Tensor",
    native="_index_at",
    function=False,
    method=False,
    dtype=lambda self: self.dtype,
    keep=("self", "indices"),
    shape=_indexed_shape,
    order=_index_order,
    grad={"self": _spread},
    part_of="index",
)
def _index_at(xp, self, indices):
    out = self[_key(xp, self, indices)]
    return out if out.base is not self else out.copy()


@composite(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace=False,
    autocast="promote_cuda",
)
def index_put(self, indices, values, accumulate):
    """A copy of ``self`` with ``values`` at ``indices``; equal places are summed with ``accumulate``."""
    masked = _as_masked_fill(self, indices, values, accumulate)
    if masked is not None:  # laid out as the clone is; what masked_fill gives is contiguous
        values = values.reshape(())
        return self.masked_fill(masked, values) if self.is_contiguous() else self.clone().masked_fill_(masked, values)
    if self.is_meta and _has_mask(indices):
        return self.clone()
    return aten._index_put_at(self, *_assigned(self, indices, values), accumulate)


@composite(
    "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", function=True
)
def index_put_(self, indices, values, accumulate):
    """``self`` with ``values`` at ``indices``, in place."""
    if not self.is_contiguous() and not self.is_meta and _expanded(self):
        return _put_by_place(self, indices, values, accumulate)
    masked = _as_masked_fill(self, indices, values, accumulate)
    if masked is not None:
        return self.masked_fill_(masked, values.reshape(()))
    if self.is_meta and _has_mask(indices):
        return self
    return aten._index_put_at_(self, *_assigned(self, indices, values), accumulate)


def _expanded(self: Any) -> bool:
    return any(step == 0 and n > 1 for n, step in zip(self.shape, self.stride(), strict=True))


def _put_by_place(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """An expanded tensor is written place by place of its memory: elements that share one do not write each other back."""
    warnings.warn(
        "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        "This also applies to advanced indexing e.g. tensor[indices] = tensor",
        stacklevel=2,
    )
    span = 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride(), strict=True)) if self.numel() else 0
    places = torch.arange(span, device=self.device).as_strided(self.shape, self.stride())
    chosen = aten.index(places, indices)
    values = _assigned(self, indices, values)[1].expand(chosen.shape).reshape(-1)
    memory = self.as_strided((span,), (1,), self.storage_offset())
    aten.index_put_(memory, [chosen.reshape(-1)], values, accumulate)
    return self


def _has_mask(indices: Any) -> bool:
    return any(i is not None and i.dtype in (_core.bool, _core.uint8) for i in indices)


def _as_masked_fill(self, indices, values, accumulate):
    """The mask, where all there is to do is filling one mask with one value."""
    given = [i for i in indices if i is not None]
    if (
        accumulate
        or values.numel() != 1
        or values.device.type != "cpu"
        or len(given) != 1
        or given[0].dtype is not _core.bool
    ):
        return None
    mask, dim = given[0], next(i for i, t in enumerate(indices) if t is not None)
    _check_mask(self, mask, dim)
    return mask.reshape(mask.shape + (1,) * (self.dim() - dim - mask.dim())).to(self.device)


def _assigned(self, indices, values):
    places = _places(self, indices)
    shape = _indexed_shape(self, places)
    sizes = tuple(values.shape)
    if len(sizes) > len(shape) or any(a not in (1, b) for a, b in zip(sizes[::-1], shape[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(sizes)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    if values.dtype != self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source."
        )
    return places, values


@op(
    "_index_put_at(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    foreseen="any",
    inplace=True,
    native="index_put_at",
    function=False,
    method=False,
    shape=lambda self: self.shape,
    dtype=lambda self: (None, self.dtype),
    keep=("self", "indices", "values"),
    order=same_order,
    grad={
        "self": lambda g, indices, values_shape, accumulate: g if accumulate else _cleared(g, indices),
        "values": lambda g, indices: aten.index(g, indices),
    },
    expanded="tensor[indices] = tensor",
    overlap="refused",
    part_of="index_put",
)
def _index_put_at(xp, self, indices, values, accumulate):
    out, key = self.copy(), _key(xp, self, indices)
    if accumulate:
        add_at(xp, out, key, values)
    else:
        out[key] = values
    return out


def _cleared(g, indices):
    return aten.index_put(g, indices, g.new_zeros(()), False)


@composite(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    method=False,
    function=False,
)
def select_backward(grad_output, input_sizes, dim, index):
    """The gradient of ``select``: zeros of ``input_sizes`` with ``grad_output`` at ``index`` of ``dim``."""
    full = grad_output.new_zeros(input_sizes)
    full.select(dim, index).copy_(grad_output)
    return full


@composite(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
    method=False,
    function=False,
)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """The gradient of a slice along ``dim``: zeros of ``input_sizes`` with ``grad_output`` in ``start:end:step``."""
    full = grad_output.new_zeros(input_sizes)
    aten.slice(full, dim, start, end, step).copy_(grad_output)
    return full
