"""``torch.nn.parallel.replicate``: copies of a module on devices."""

from __future__ import annotations

from typing import Any

__all__ = ["replicate"]


def replicate(network: Any, devices: Any, detach: bool = False) -> list[Any]:
    """Copies of a module on devices; NotImplementedError for several devices."""
    if len(devices) > 1:
        raise NotImplementedError("torch.nn.parallel.replicate: several devices are not supported by shim-torch")
    return [network]
