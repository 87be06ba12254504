"""``torch._inductor.graph``: the compiler's graph, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    GraphLowering SubgraphLowering
    """,
)
