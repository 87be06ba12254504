"""``torch._inductor.graph``: the compiler's graph, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._inductor.graph",
        NO_COMPILER,
        """
        GraphLowering SubgraphLowering
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._inductor.graph", name)
