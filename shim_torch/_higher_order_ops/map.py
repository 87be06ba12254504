"""``torch._higher_order_ops.map``: a function of slices, over all slices of the first dim. It runs at once, as a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each slice ``x`` of dim 0 of the tensors in ``xs`` (any nest of them), the results stacked.

    Errors: RuntimeError when there is no tensor, one has no dim 0 or the sizes of dim 0 differ or are 0.
    """
    import shim_torch
    from shim_torch.utils import _pytree as pytree

    flat, spec = pytree.tree_flatten(xs)
    if not flat or not all(isinstance(x, shim_torch.Tensor) for x in flat):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {flat}.")
    sizes = [x.shape[0] if x.dim() else 0 for x in flat]
    if any(n == 0 for n in sizes):
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(n != sizes[0] for n in sizes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in flat]}.")
    results = [f(pytree.tree_unflatten([x[i] for x in flat], spec), *args) for i in range(sizes[0])]
    return pytree.tree_map(lambda *parts: shim_torch.stack(parts) if parts[0] is not None else None, *results)


_fake_map = map
