"""``torch.xpu``: Intel GPUs. There are none here: asking says so, using one is an error."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.absent_device import names

globals().update(names("torch.xpu", "XPU"))


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.xpu", name)
