"""``torch._refs.linalg``: the operators of ``torch.linalg`` under those names."""

from __future__ import annotations

from typing import Any

import shim_torch.linalg as served
from shim_torch._refs import served_as


def __getattr__(name: str) -> Any:
    return served_as(globals(), served, name)
