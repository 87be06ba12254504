"""Fake tensors as text."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def shown(fake: Any) -> str:
    """``FakeTensor(..., size=(2, 3))``, with what is not as usual: device, dtype, history."""
    parts = ["..."]
    if fake.device.type != "cpu":
        parts.append(f"device='{fake.device}'")
    parts.append(f"size={tuple(fake.shape)}")
    if fake.dtype != _core.get_default_dtype():
        parts.append(f"dtype={fake.dtype}")
    if fake.grad_fn is not None:
        parts.append(f"grad_fn=<{fake.grad_fn.name()}>")
    elif fake.requires_grad:
        parts.append("requires_grad=True")
    text = f"FakeTensor({', '.join(parts)})"
    return f"Parameter({text})" if getattr(fake, "_is_param", False) else text
