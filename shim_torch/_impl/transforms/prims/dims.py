"""Dimensions by their numbers, and shapes that broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.surface import naming


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dim as a number from 0; IndexError outside."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """A dim as a number from 0, or a sequence of dims as a tuple of such; IndexError outside."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, i, wrap_scalar) for i in indices)


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """All dims for None; RuntimeError for one given twice."""
    found = tuple(range(len(shape))) if dims is None else tuple(canonicalize_dim(len(shape), d) for d in dims)
    if len(set(found)) != len(found):
        raise RuntimeError("duplicate value in the list of dims")
    return found


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Whether a tensor of one shape can be expanded to another."""
    if len(shape) > len(desired):
        return False
    return all(d == n or n == 1 for n, d in zip(reversed(shape), reversed(desired), strict=False))


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """The shape with -1 replaced; RuntimeError where it doesn't fit."""
    known = math.prod(n for n in shape if n != -1)
    if -1 not in shape:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(numel // known if n == -1 else n for n in shape)


def extract_shape_from_varargs(shape: Any, validate: bool = True) -> tuple[int, ...]:
    """The shape (2, 3) of arguments ``f(2, 3)`` or ``f((2, 3))``; sizes are not checked."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else tuple(shape)


naming.present(globals(), "torch._prims_common")
