"""Chunks side by side, gathers under a mask, and a tensor's hash."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import not_implemented, reduced, underived, wrap_dim, wrap_dims

_HIDDEN: dict[str, Any] = {"method": False}


# --- chunks and masked gathers --------------------------------------------------------------------------------------


def _check_chunks(tensors: list[Any], dim: int, num_chunks: int) -> int:
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    ndim = tensors[0].dim()
    if any(t.dim() != ndim for t in tensors):
        if dim < 0:
            raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    else:
        dim = wrap_dim(dim, ndim)
    for t in tensors:
        if dim >= t.dim():
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if t.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if t.shape[:dim] != tensors[0].shape[:dim]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    return dim


@direct("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", out=True, grad={"tensors": underived("_chunk_cat")},
        **_HIDDEN, cast_error="TypeError: torch.cat(): input types can't be cast to the desired output type {O}", out_error_name="aten::_chunk_cat")  # fmt: skip
def _chunk_cat(tensors, dim, num_chunks):
    """Each tensor padded to ``num_chunks`` equal chunks along ``dim``, and the flattened chunks side by side."""
    dim = _check_chunks(tensors, dim, num_chunks)
    parts = []
    for t in tensors:
        missing = -t.size(dim) % num_chunks
        if missing:
            t = torch.cat([t, t.new_zeros((*t.shape[:dim], missing, *t.shape[dim + 1 :]))], dim)
        parts.append(t.reshape(*t.shape[:dim], num_chunks, -1))
    return torch.cat(parts, dim + 1)


def _clamped(self: Any, indices: list[Any]) -> list[Any]:
    return [i if i is None else i.clamp(-self.size(d), self.size(d) - 1) for d, i in enumerate(indices)]


@composite(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    gradient_name="UnsafeMaskedIndexBackward0",
    **_HIDDEN,
)
def _unsafe_masked_index(self, mask, indices, fill):
    """``self[indices]`` with ``fill`` where the mask is false; indices out of range may stand there."""
    if self.numel() == 0:
        return self.new_full(_core.broadcast_shapes([mask.shape, *(i.shape for i in indices if i is not None)]), fill)
    return aten.index(self, _clamped(self, indices)).masked_fill(mask.logical_not(), fill)


@composite(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    gradient_name="UnsafeMaskedIndexPutAccumulateBackward0",
    **_HIDDEN,
)
def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """Adds ``values`` at the indices where the mask is true."""
    if self.numel() == 0:
        return self.clone()
    values = values.masked_fill(mask.logical_not(), 0)
    return aten.index_put(self, _clamped(self, indices), values, True)


# --- a hash ---------------------------------------------------------------------------------------------------------


def _hash_shape(self: Any, dim: Any, keepdim: bool, mode: int) -> tuple[int, ...]:
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if self.numel() == 0 and not dim:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
            "argument."
        )
    for d in wrap_dims(dim, self.dim()):
        if self.size(d) == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    return reduced(self, dim, keepdim)


def _hash_dtype(self: Any) -> Any:
    if self.is_complex():
        raise not_implemented("xor_sum_cpu", self.dtype)
    return None, _core.uint64


@op("hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", shape=_hash_shape, dtype=_hash_dtype,
    out=True, out_dtype="Expected result to be of dtype uint64, but got {O}")  # fmt: skip
def hash_tensor(xp, self, dim, *, keepdim):
    """The exclusive or of the elements' bits, floating point ones as float64."""
    wide = self.astype("float64").view("uint64") if self.dtype.kind == "f" else self.astype("int64").view("uint64")
    axes = tuple(wrap_dims(dim, self.ndim))
    return xp.bitwise_xor.reduce(wide, axis=axes, keepdims=keepdim) if axes else wide
