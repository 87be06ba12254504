"""``torch.cpu.amp.autocast_mode``."""

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch.cpu import amp

    return getattr(amp, name)
