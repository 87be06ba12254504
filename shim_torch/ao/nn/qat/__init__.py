"""``torch.ao.nn.qat``: its modules work on quantized tensors, which are not supported."""

from __future__ import annotations

from typing import Any

from shim_torch.ao.nn.qat import modules as modules


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.ao.nn.qat", name)
