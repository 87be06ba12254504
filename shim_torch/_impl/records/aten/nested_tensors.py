"""Inner operators that make nested tensors: of padded tensors, of masks, of buffers and of jagged values."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, package
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.rules import type_name
from shim_torch._impl.tensor import from_data


def _strided(parts: list[Any], like: Any) -> Any:
    from shim_torch._impl.nested.strided import StridedNestedTensor

    return StridedNestedTensor(parts, like.dtype, like.device)


@aten("_nested_from_padded", public=True)
def _nested_from_padded(padded, cpu_nested_shape_example, fuse_transform_0213):
    """The leading corner of each row, of the sizes that a row of the table says."""
    sizes = cpu_nested_shape_example.tolist()
    if fuse_transform_0213:
        if padded.dim() != 4:
            raise RuntimeError("_nested_from_padded: fuse_transform_0213 needs a padded tensor of four dimensions")
        padded = padded.transpose(1, 2).flatten(2)
    rows = []
    for row, size in zip(padded.unbind(0), sizes, strict=True):
        rows.append(row[tuple(slice(0, n) for n in size)].clone())
    return _strided(rows, padded)


@aten("_nested_from_padded_and_nested_example", public=True)
def _nested_from_padded_and_nested_example(padded, nt_example):
    return package()._nested_from_padded(padded, nt_example._nested_tensor_size())


@aten("_nested_tensor_from_mask_left_aligned", public=True)
def _nested_tensor_from_mask_left_aligned(t, mask):
    """Whether each row's True values come first."""
    _check_mask(t, mask)
    lengths = mask.sum(1)
    return bool((torch.arange(mask.shape[1], device=mask.device) < lengths.unsqueeze(1)).eq(mask).all())


def _check_mask(t: Any, mask: Any) -> None:
    if mask.dtype != _core.bool:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {type_name(mask.dtype)} instead.")
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if t.shape[:2] != mask.shape:
        raise RuntimeError("Mask size should match input size")


@aten("_nested_tensor_from_mask", public=True)
def _nested_tensor_from_mask(t, mask, mask_check):
    """The first elements of each row, as many as its mask has True."""
    _check_mask(t, mask)
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return _strided([row[:n].clone() for row, n in zip(t.unbind(0), mask.sum(1).tolist(), strict=True)], t)


@aten("_nested_compute_contiguous_strides_offsets", public=True)
def _nested_compute_contiguous_strides_offsets(nested_size):
    """The strides of contiguous parts of these sizes, and where each begins in a buffer of all."""
    strides, offsets, at = [], [], 0
    for size in nested_size.tolist():
        strides.append([math.prod(size[i + 1 :]) for i in range(len(size))])
        offsets.append(at)
        at += math.prod(size)
    new = from_data.tensor
    shape = tuple(nested_size.shape)
    return new(strides, dtype=_core.int64).reshape(shape), new(offsets, dtype=_core.int64)


@aten("_nested_view_from_buffer", public=True)
def _nested_view_from_buffer(self, nested_size, nested_strides, offsets):
    """Parts of these sizes and strides, each from its offset in the buffer on; views of it."""
    table = zip(nested_size.tolist(), nested_strides.tolist(), offsets.tolist(), strict=True)
    base = self.storage_offset()
    return _strided([self.as_strided(size, strides, base + at) for size, strides, at in table], self)


@aten("_nested_view_from_buffer_copy", public=True)
def _nested_view_from_buffer_copy(self, nested_size, nested_strides, offsets):
    return _nested_view_from_buffer(self.clone(), nested_size, nested_strides, offsets)


@aten("_nested_view_from_jagged", "_nested_view_from_jagged_copy", public=True)
def _nested_view_from_jagged(self, offsets, dummy, lengths, ragged_idx, min_seqlen, max_seqlen):
    return package().nested.nested_tensor_from_jagged(self, offsets, lengths, ragged_idx)


@aten("_nested_get_values", "_nested_get_values_copy", public=True)
def _nested_get_values(self):
    return self.values()


@aten("_nested_from_padded_tensor", public=True)
def _nested_from_padded_tensor(padded, offsets, dummy, ragged_idx, min_seqlen, max_seqlen, sum_S):
    ends = offsets.tolist()
    rows = [padded[b].narrow(ragged_idx - 1, 0, ends[b + 1] - ends[b]) for b in range(len(ends) - 1)]
    return package().nested.nested_tensor_from_jagged(torch.cat(rows, ragged_idx - 1), offsets, None, ragged_idx)
