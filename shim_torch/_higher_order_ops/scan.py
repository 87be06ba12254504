"""``torch._higher_order_ops.scan``: a loop over slices that carries a state. It runs at once, as a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["scan"]


def leaves_of(xs: Any, dim: int, function: str) -> tuple[list[Any], Any, int]:
    """(tensors, structure, common size of ``dim``) of a nest of tensors.

    Errors: RuntimeError for anything but tensors, or sizes that differ; ValueError where there are none.
    """
    import shim_torch
    from shim_torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(xs)
    if not leaves:
        raise ValueError(f"{function}() operator requires at least one input tensor (xs)")
    for x in leaves:
        if not isinstance(x, shim_torch.Tensor):
            raise RuntimeError(f"{function}: All xs leaves must be a Tensor but got {type(x).__name__}")
    sizes = {x.shape[dim] for x in leaves}
    if len(sizes) != 1:
        raise RuntimeError(
            f"{function}: All xs tensors must have the same size along dim {dim}, but got {sorted(sizes)}"
        )
    return leaves, spec, sizes.pop()


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice ``x`` of ``dim`` of the tensors in ``xs``, from ``carry = init``.

    Returns the last carry and the ``y`` stacked in dim 0, in the order of the slices. ``reverse``: from the last slice on.
    """
    import shim_torch
    from shim_torch.utils import _pytree as pytree

    if not callable(combine_fn):
        raise RuntimeError("Combine_fn must be a callable, but got " + str(combine_fn))
    if not isinstance(dim, int):
        raise RuntimeError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    leaves, spec, n = leaves_of(xs, dim, "scan")
    carry, made = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = combine_fn(carry, pytree.tree_unflatten([x.select(dim, i) for x in leaves], spec))
        made.append(y)
    if reverse:
        made.reverse()
    return carry, pytree.tree_map(lambda *parts: shim_torch.stack(parts), *made) if made else None


def _fake_scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """What ``scan`` gives, the ``y`` stacked in ``dim`` where they have it: for comparisons."""
    import shim_torch
    from shim_torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(xs)
    if xs is None or not leaves:
        return init, []
    carry, made = init, []
    size = leaves[0].size(dim)
    for i in reversed(range(size)) if reverse else range(size):
        carry, y = combine_fn(carry, pytree.tree_unflatten([x.select(dim, i) for x in leaves], spec))
        made.append(y)
    if reverse:
        made.reverse()

    def joined(*parts: Any) -> Any:
        whole = shim_torch.stack(parts)
        return whole.movedim(0, dim) if dim < whole.dim() else whole

    return carry, pytree.tree_map(joined, *made)
