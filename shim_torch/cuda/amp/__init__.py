"""``torch.cuda.amp``: the older names of ``torch.amp`` for CUDA."""

from __future__ import annotations

import functools

import shim_torch.cuda.amp.autocast_mode as autocast_mode
import shim_torch.cuda.amp.grad_scaler as grad_scaler
from shim_torch._impl.amp.deprecated import deprecated_classes as _deprecated_classes
from shim_torch.amp import custom_bwd as _custom_bwd
from shim_torch.amp import custom_fwd as _custom_fwd

custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")


autocast, GradScaler = _deprecated_classes("cuda", None)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
