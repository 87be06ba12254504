"""``torch.autograd._functions.utils``: tensors given back the sizes they had before a view or an expansion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def maybe_view(tensor: Any, size: Sequence[int], check_same_size: bool = True) -> Any:
    """The tensor in another size of as many elements; itself where it has that size, if ``check_same_size``."""
    return tensor if check_same_size and tuple(tensor.shape) == tuple(size) else tensor.contiguous().view(tuple(size))


def maybe_unexpand(tensor: Any, old_size: Sequence[int], check_same_size: bool = True) -> Any:
    """The sums of a tensor over the dims along which one of ``old_size`` was expanded to it."""
    if check_same_size and tuple(tensor.shape) == tuple(old_size):
        return tensor
    return tensor.sum_to_size(tuple(old_size))
