"""``torch.cpu.amp``: the older names of ``torch.amp`` for the CPU."""

from __future__ import annotations

import warnings
from typing import Any

from native import _core
from shim_torch.amp import GradScaler as _GradScaler
from shim_torch.amp import autocast as _autocast

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """``torch.amp.autocast("cpu")``."""

    def __init__(self, enabled: bool = True, dtype: Any = _core.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cpu")``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.cpu.amp", name)
