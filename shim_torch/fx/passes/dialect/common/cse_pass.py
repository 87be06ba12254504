"""``torch.fx.passes.dialect.common.cse_pass``: equal steps made one, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    CSEPass get_CSE_banned_ops
    """,
)
