"""``torch._higher_order_ops.associative_scan``: running results of an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int = 0,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Tensors of the shapes of ``xs`` whose slice ``i`` along ``dim`` is ``combine_fn`` of the slices up to ``i``.

    ``combine_fn`` must be associative; it gets whole ranges of slices at once (about 2 log2 n calls). ``reverse``: of the
    slices from ``i`` on. Errors: ValueError for an unknown ``combine_mode``; RuntimeError for sizes that differ.
    """
    import shim_torch
    from shim_torch._higher_order_ops.scan import leaves_of
    from shim_torch.utils import _pytree as pytree

    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec, n = leaves_of(xs, dim, "associative_scan")

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        made = combine_fn(pytree.tree_unflatten(a, spec), pytree.tree_unflatten(b, spec))
        return pytree.tree_flatten(made)[0]

    def part(values: list[Any], start: int, stop: int | None = None, step: int = 1) -> list[Any]:
        index = (slice(None),) * (dim % values[0].dim()) + (slice(start, stop, step),)
        return [v[index] for v in values]

    def running(values: list[Any], size: int) -> list[Any]:
        if size < 2:
            return values
        # Pairs first, their running results next; what lies between follows from the neighbour before it.
        odd = running(combine(part(values, 0, size - size % 2, 2), part(values, 1, None, 2)), size // 2)
        before = part(odd, 0, (size - 1) // 2)
        even = combine(before, part(values, 2, None, 2)) if size > 2 else []
        first = part(values, 0, 1)
        out = []
        for i, value in enumerate(first):
            evens = shim_torch.cat([value, even[i]], dim) if even else value
            pieces = [p for pair in zip(evens.split(1, dim), odd[i].split(1, dim), strict=False) for p in pair]
            out.append(shim_torch.cat([*pieces, evens.narrow(dim, -1, 1)] if size % 2 else pieces, dim))
        return out

    if reverse:
        leaves = [x.flip(dim) for x in leaves]
    found = running(leaves, n)
    return pytree.tree_unflatten([x.flip(dim) for x in found] if reverse else found, spec)


def _fake_associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False) -> Any:
    """What ``associative_scan`` gives, by one call of ``combine_fn`` for each slice but the first: for comparisons."""
    import shim_torch
    from shim_torch.utils import _pytree as pytree

    leaves, spec = pytree.tree_flatten(xs)
    size = leaves[0].size(dim)
    made: list[list[Any]] = []
    for i in reversed(range(size)) if reverse else range(size):
        row: Any = [x.select(dim, i) for x in leaves]
        if made:
            found = combine_fn(pytree.tree_unflatten(made[-1], spec), pytree.tree_unflatten(row, spec))
            row = pytree.tree_flatten(found)[0]
        made.append(row)
    if reverse:
        made.reverse()
    return pytree.tree_unflatten([shim_torch.stack(list(column), dim) for column in zip(*made, strict=True)], spec)
