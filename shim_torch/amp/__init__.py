"""``torch.amp``: automatic mixed precision."""

from shim_torch.amp import autocast_mode, grad_scaler
from shim_torch.amp.autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from shim_torch.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "_enter_autocast",
    "_exit_autocast",
    "autocast",
    "autocast_mode",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "grad_scaler",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]
