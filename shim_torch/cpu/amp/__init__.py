"""``torch.cpu.amp``: the older names of ``torch.amp`` for the CPU."""

from __future__ import annotations

from shim_torch._impl.amp.older import older_names
from shim_torch._impl.native import _core
from shim_torch.cpu.amp import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = older_names("cpu", _core.bfloat16)
