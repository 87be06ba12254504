"""``functorch.einops``: ``rearrange``, by Einstein-like patterns."""

from __future__ import annotations

import re
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch

__all__ = ["rearrange"]
_ALONE = "... "  # an ellipsis outside brackets: as many dims as there are, not their product


def _side(text: str, side: str) -> list[list[str]]:
    """The dims of one side, each a list of its factors' names."""
    dims: list[list[str]] = []
    group: list[str] | None = None
    for token in re.findall(r"\.\.\.|[()]|[^\s()]+", text):
        if token == "(":
            if group is not None:
                raise ValueError("brackets inside brackets are not allowed")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("brackets are not balanced")
            dims.append(group)
            group = None
        elif token == "1":
            if group is None:
                dims.append([])
        elif token != "..." and not token.isidentifier():
            raise ValueError(f"{side} has an axis that is no identifier: {token!r}")
        elif group is None:
            dims.append([_ALONE if token == "..." else token])
        else:
            group.append(token)
    if group is not None:
        raise ValueError("brackets are not balanced")
    return dims


def _without_ellipsis(dims: list[list[str]], rest: list[str]) -> list[list[str]]:
    """The dims with names in place of ``...``, which alone stands for many dims, in brackets for their product."""
    made: list[list[str]] = []
    for dim in dims:
        if dim == [_ALONE]:
            made += [[n] for n in rest]
        else:
            made.append([m for n in dim for m in (rest if n == "..." else [n])])
    return made


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """``rearrange(x, "b (h d) s -> b h s d", h=8)``: dims are split, moved, joined, added and removed (of size 1).

    ``tensor``: one tensor, or a list of them, stacked in a first dim. ``axes_lengths``: sizes of factors that the shape leaves
    open, one in each bracket at most. Errors: ValueError for a bad pattern or sizes that do not fit.
    """
    if not isinstance(tensor, _core.Tensor):
        tensor = torch.stack(list(tensor))
    halves = pattern.split("->")
    if len(halves) != 2:
        raise ValueError(f"a pattern has one '->': {pattern!r}")
    left, right = _side(halves[0], "left side"), _side(halves[1], "right side")
    rest = [f"{i}..." for i in range(tensor.dim() - sum(d != [_ALONE] for d in left))]  # what the ellipsis stands for
    left, right = _without_ellipsis(left, rest), _without_ellipsis(right, rest)
    if len(left) != tensor.dim():
        raise ValueError(f"{pattern!r} names {len(left)} dims, the tensor has {tensor.dim()}")
    names = [n for d in left for n in d]
    if len(set(names)) != len(names) or sorted(names) != sorted(n for d in right for n in d):
        raise ValueError(f"both sides of {pattern!r} must name the same dims, each once")
    if unknown := set(axes_lengths) - set(names):
        raise ValueError(f"{pattern!r} has no dims {sorted(unknown)}")
    sizes: dict[str, int] = dict(axes_lengths)
    for names_of_dim, size in zip(left, tensor.shape, strict=True):
        known = 1
        for n in names_of_dim:
            known *= sizes.get(n, 1)
        open_ = [n for n in names_of_dim if n not in sizes]
        if len(open_) > 1 or size % known or (not open_ and known != size):
            raise ValueError(
                f"the size {size} of {names_of_dim or 1} in {pattern!r} does not follow from {axes_lengths}"
            )
        if open_:
            sizes[open_[0]] = size // known
    split = tensor.reshape([sizes[n] for n in names])
    moved = split.permute([names.index(n) for d in right for n in d])
    return moved.reshape([int(_core.Size([sizes[n] for n in d]).numel()) for d in right])
