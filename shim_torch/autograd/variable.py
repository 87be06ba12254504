"""``torch.autograd.variable``: the old name of tensors with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _core.Tensor)


class ImperativeEngine:
    """The backward engine, as far as programs reach it."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Runs ``callback`` when the current backward pass is done."""
        _core.queue_callback(callback)

    @staticmethod
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        """Runs the backward pass of the engine; arguments as of PyTorch's engine."""
        return _core.run_backward(*args, **kwargs)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether reentrant checkpoints work in this pass: not with ``grad()`` or ``inputs=``."""
        return _core._is_checkpoint_valid()


class Variable(metaclass=VariableMeta):
    """``Variable(t)`` is a tensor that shares ``t``'s memory."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if volatile is not None:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        if data is None:
            data = _torch.empty(0)
        elif not isinstance(data, _core.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        t = data.detach()
        return t.requires_grad_() if requires_grad else t


Variable.__module__ = "torch.autograd"
