"""``torch._higher_order_ops.cond``: ``torch.cond`` and its operator, which run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.library.higher_order import HigherOrderOperator

__all__ = ["CondOp", "cond", "cond_op"]


class CondOp(HigherOrderOperator):
    """``cond_op(pred, true_fn, false_fn, operands)``."""

    def __init__(self) -> None:
        super().__init__("cond")

    def __call__(self, pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
        return true_fn(*operands) if bool(pred) else false_fn(*operands)


cond_op = CondOp()


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``, as a bool or a tensor of one element says."""
    return cond_op(pred, true_fn, false_fn, operands)
