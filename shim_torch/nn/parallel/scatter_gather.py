"""``torch.nn.parallel.scatter_gather``: inputs cut over devices, outputs joined on one."""

from __future__ import annotations

from typing import Any

from shim_torch.nn.parallel import gather, scatter

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


is_namedtuple = _is_namedtuple


def scatter_kwargs(
    inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Any, dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments and keyword arguments for every device; the shorter list is filled up with empty ones."""
    parts = [list(scatter(given, target_gpus, dim)) if given else [] for given in (inputs, kwargs)]
    count = max(map(len, parts))
    cut, named = (
        (*own, *(kind() for _ in range(count - len(own)))) for own, kind in zip(parts, (tuple, dict), strict=True)
    )
    return cut, named
