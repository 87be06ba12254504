"""Inputs of masked reductions: what a mask drops is replaced by what the reduction does not see."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core


def filled(input: Any, mask: Any, value: Any) -> Any:
    """``value`` where the mask drops an element; without a mask the input itself."""
    if mask is None:
        return input
    kept = mask if mask.dtype is _core.bool else mask.to(_core.bool)
    return input.masked_fill(~kept.expand_as(input), value)


def dims_of(input: Any, dim: Any) -> tuple[int, ...]:
    """The dims as a tuple, all of them for None and for none."""
    if dim is None or dim == ():
        return tuple(range(input.dim()))
    if isinstance(dim, int):
        return (dim,)
    for i, d in enumerate(dim):
        if d in dim[:i]:  # as they were given: -1 beside the last is the reduction's to refuse
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
    return tuple(dim)


def cast(input: Any, dtype: Any) -> Any:
    """In the dtype, where one is given."""
    return input if dtype is None or dtype is input.dtype else input.to(dtype)


def limit(name: str, input: Any, sign: int) -> Any:
    """What counts as kept by no reduction: the least or greatest value of the dtype."""
    import shim_torch

    dtype = input.dtype
    if dtype.is_floating_point:
        return sign * math.inf
    if dtype is _core.bool:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    if dtype.is_complex:
        if name == "logsumexp":
            return complex(-math.inf, 0)
        raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
    info = shim_torch.iinfo(dtype)
    return info.max if sign > 0 else info.min


def with_least(name: str, input: Any, mask: Any) -> Any:
    """The least value of the dtype where the mask drops an element; ``name``: the reduction, in errors."""
    return input if mask is None else filled(input, mask, limit(name, input, -1))


def with_greatest(name: str, input: Any, mask: Any) -> Any:
    """The greatest value of the dtype where the mask drops an element; ``name``: the reduction, in errors."""
    return input if mask is None else filled(input, mask, limit(name, input, 1))


def count(input: Any, dims: tuple[int, ...], keepdim: bool, mask: Any) -> Any:
    """How many elements the mask keeps along the dims."""
    import shim_torch

    kept = shim_torch.ones_like(input, dtype=_core.int64) if mask is None else mask.expand_as(input).long()
    return kept.sum(dims, keepdim)
