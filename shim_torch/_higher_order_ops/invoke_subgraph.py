"""``torch._higher_order_ops.invoke_subgraph``: functions that a compiler would compile once. They are called."""

from __future__ import annotations

from typing import Any

from shim_torch.compiler import nested_compile_region as mark_compile_region

__all__ = ["mark_compile_region"]


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch._higher_order_ops.invoke_subgraph", name)
