"""``torch.quantization``: the older name of ``torch.ao.quantization``."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch.ao import quantization

    return getattr(quantization, name)
