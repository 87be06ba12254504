"""``torch.nn.intrinsic``: the older name of ``torch.ao.nn.intrinsic``."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch.ao.nn import intrinsic

    return getattr(intrinsic, name)
