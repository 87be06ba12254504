"""``torch.fx.experimental.rewriter``: tracing of rewritten source, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    AST_Rewriter RewritingTracer
    """,
)
