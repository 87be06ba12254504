"""Strides of dense layouts, and questions about them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal, whatever sequences they are."""
    return tuple(a) == tuple(b)


def _dense_strides(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without gaps whose dims lie in that order, the innermost first; no dim counts as empty."""
    steps = accumulate((max(shape[d], 1) for d in order), mul, initial=1)
    return tuple(step for _, step in sorted(zip(order, steps, strict=False)))


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a dense tensor of that shape; with ``row_major`` off, of dense columns in its last two dims."""
    order = list(reversed(range(len(shape))))
    if not row_major:
        order[:2] = reversed(order[:2])
    return _dense_strides(shape, order)


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense NHWC or NDHWC tensor."""
    if len(shape) not in (4, 5):
        raise RuntimeError("no channels last format strides exist in " + str(len(shape)) + " dimensions")
    return _dense_strides(shape, [1, *range(len(shape) - 1, 1, -1), 0])


def is_contiguous(a: Any) -> bool:
    """Whether a tensor's elements lie one after the other, the last dim innermost."""
    return bool(a.is_contiguous())


def is_contiguous_for_memory_format(a: Any, *, memory_format: Any) -> bool:
    """Whether a tensor's elements lie one after the other as the memory format wants."""
    return bool(a.is_contiguous(memory_format=memory_format))


def is_channels_last_contiguous(a: Any) -> bool:
    """Whether a tensor is dense NHWC or NDHWC."""
    return (a.dim() == 4 and a.is_contiguous(memory_format=_core.channels_last)) or (
        a.dim() == 5 and a.is_contiguous(memory_format=_core.channels_last_3d)
    )


def suggest_memory_format(x: Any) -> Any:
    """channels_last for NHWC tensors, otherwise contiguous_format."""
    if x.dim() == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=_core.channels_last):
        return _core.channels_last
    if x.dim() == 5 and not x.is_contiguous() and x.is_contiguous(memory_format=_core.channels_last_3d):
        return _core.channels_last_3d
    return _core.contiguous_format


def is_non_overlapping_and_dense(a: Any) -> bool:
    """Whether the tensor fills its memory without gaps, in some order of dims."""
    expected = 1
    for stride, n in sorted((s, n) for s, n in zip(a.stride(), a.shape, strict=True) if n != 1):
        if n == 0:
            return True
        if stride != expected:
            return False
        expected *= n
    return True


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """The number of elements a storage needs."""
    if 0 in shape:
        return 0
    return 1 + storage_offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


naming.present(globals(), "torch._prims_common")
