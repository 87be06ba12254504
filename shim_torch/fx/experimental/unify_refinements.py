"""``torch.fx.experimental.unify_refinements``: sizes that are symbols solved for, by name."""

from __future__ import annotations

from shim_torch._not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    infer_symbolic_types infer_symbolic_types_single_pass unify_eq substitute_all_types
    """,
)
