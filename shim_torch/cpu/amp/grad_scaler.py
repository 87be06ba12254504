"""``torch.cpu.amp.grad_scaler``."""

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch.cpu import amp

    return getattr(amp, name)
