"""What nested tensors are made of: the two kinds, the sizes that vary, and the functions they know."""

from __future__ import annotations

from importlib import import_module

_LOADED: list[str] = []


def _load() -> None:
    """Brings in the functions of nested tensors, at the first use of one."""
    if not _LOADED:
        _LOADED.append("")
        for name in (
            "properties", "history", "pointwise", "reductions", "products", "shapes", "indexing", "creation", "flex", "probes",
        ):  # fmt: skip
            import_module(f"shim_torch._impl.nested.{name}")
