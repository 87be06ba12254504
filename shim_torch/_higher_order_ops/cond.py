"""``torch._higher_order_ops.cond``: ``torch.cond`` and its operator, which run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.library.higher_order import HigherOrderOperator
from shim_torch._impl.native import _core

Tensor = _core.Tensor

__all__ = ["CondOp", "cond", "cond_op"]


def truth(pred: Any) -> bool:
    """What a bool or a tensor of one element says: asked for as a number, which breaks no graph of a compiled function."""
    return bool(pred.item() if isinstance(pred, Tensor) else pred)


class CondOp(HigherOrderOperator):
    """``cond_op(pred, true_fn, false_fn, operands)``."""

    def __init__(self) -> None:
        super().__init__("cond")

    def __call__(self, pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
        return true_fn(*operands) if truth(pred) else false_fn(*operands)


cond_op = CondOp()


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``, as a bool or a tensor of one element says; RuntimeError for others."""
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return cond_op(pred, true_fn, false_fn, operands)
