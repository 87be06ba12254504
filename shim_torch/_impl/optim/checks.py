"""PyTorch's errors for settings of optimizers."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def check(name: str, ok: Any, value: Any) -> None:
    """PyTorch's error for a setting out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr: Any) -> None:
    """PyTorch's errors for a learning rate: one number or tensor of one element, not below zero."""
    if isinstance(lr, _core.TensorBase) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check("learning rate", 0.0 <= lr, lr)
