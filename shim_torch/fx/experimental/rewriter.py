"""``torch.fx.experimental.rewriter``: tracing of rewritten source, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch.fx.experimental.rewriter",
        NO_COMPILER,
        """
        AST_Rewriter RewritingTracer
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.fx.experimental.rewriter", name)
