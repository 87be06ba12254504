"""``torch._vmap_internals``: the older name of ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.vmap import vmap as _batched

__all__ = ["vmap"]


def _uncounted(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` run as if by no function transform: a Function needs no ``setup_context`` for this older ``vmap``."""

    def run(*args: Any) -> Any:
        _core._count_transforms(-1)
        try:
            return func(*args)
        finally:
            _core._count_transforms(1)

    return run


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """``vmap``; with ``allow_none_pass_through`` results may be None."""
    func = _uncounted(func)
    if not allow_none_pass_through:
        return _batched(func, in_dims, out_dims, "legacy")

    def wrapped(*args: Any) -> Any:
        absent: list[Any] = []

        def present(*items: Any) -> Any:
            found = func(*items)
            results = found if isinstance(found, tuple) else (found,)
            absent[:] = [isinstance(found, tuple), [r is None for r in results]]
            return tuple(r for r in results if r is not None)

        batched = iter(_batched(present, in_dims, out_dims, "legacy")(*args))
        several, missing = absent
        results = tuple(None if gone else next(batched) for gone in missing)
        return results if several else results[0]

    return wrapped


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Deprecated: ``torch.vmap``."""
    import warnings

    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.",
        FutureWarning,
        stacklevel=2,
    )
    return _vmap(func, in_dims, out_dims)
