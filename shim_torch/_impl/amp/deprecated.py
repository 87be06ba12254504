"""Deprecated names of ``torch.cuda.amp`` and ``torch.cpu.amp``: the classes autocast and GradScaler, one pair a device, and a function."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch.amp.autocast_mode import _cast, autocast
from shim_torch.amp.grad_scaler import GradScaler


def cuda_cast(value: Any, dtype: Any) -> Any:
    """``torch.cuda.amp.autocast_mode._cast``, which extensions call (apex): floating CUDA tensors, inside containers too, in ``dtype``."""
    warnings.warn(
        "`torch.cuda.amp.autocast_mode._cast(value, dtype)` is deprecated. "
        "Please use `torch.amp.autocast_mode._cast(value, 'cuda', dtype)` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return _cast(value, "cuda", dtype)


def deprecated_classes(device: str, autocast_dtype: Any) -> tuple[type[autocast], type[GradScaler]]:
    """The classes ``autocast`` and ``GradScaler`` of ``torch.<device>.amp``: deprecated, they warn when they are made."""

    def warn(name: str) -> None:
        warnings.warn(
            f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
            FutureWarning,
            stacklevel=3,
        )

    class DeprecatedAutocast(autocast):
        def __init__(self, enabled: bool = True, dtype: Any = autocast_dtype, cache_enabled: bool = True) -> None:
            warn("autocast")
            super().__init__(device, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    class DeprecatedGradScaler(GradScaler):
        def __init__(
            self,
            init_scale: float = 65536.0,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            warn("GradScaler")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    for made, name, home in (
        (DeprecatedAutocast, "autocast", "autocast_mode"),
        (DeprecatedGradScaler, "GradScaler", "grad_scaler"),
    ):
        made.__name__ = made.__qualname__ = name
        # torch.cpu.amp has no such modules of its own here
        made.__module__ = "torch.cpu.amp" if device == "cpu" else f"torch.cuda.amp.{home}"
        made.__doc__ = f'``torch.amp.{name}("{device}")``.'
    return DeprecatedAutocast, DeprecatedGradScaler
