"""``torch.cpu.amp``: the older names of ``torch.amp`` for the CPU."""

from __future__ import annotations

import shim_torch.cpu.amp.autocast_mode as autocast_mode
import shim_torch.cpu.amp.grad_scaler as grad_scaler
from shim_torch._impl.amp.deprecated import deprecated_classes
from shim_torch._impl.native import _core

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = deprecated_classes("cpu", _core.bfloat16)
