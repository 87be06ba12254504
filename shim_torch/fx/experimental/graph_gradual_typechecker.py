"""``torch.fx.experimental.graph_gradual_typechecker``: graphs checked for the sizes of their tensors, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    GraphTypeChecker Refine broadcast_types
    """,
)
