"""``torch.mps``: Apple GPUs. There are none here: asking says so, using one is an error."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.absent_device import names as _names

globals().update(_names("torch.mps", "MPS"))


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.mps", name)
