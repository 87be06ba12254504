"""``torch.fx.passes.dialect.common.cse_pass``: equal steps made one, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch.fx.passes.dialect.common.cse_pass",
        NO_COMPILER,
        """
        CSEPass get_CSE_banned_ops
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.fx.passes.dialect.common.cse_pass", name)
