"""Seeds of generators, drawn from generators."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch


def drawn_seed(generator: Any = None) -> int:
    """A number of 63 bits from a ``torch.Generator``, or from the default one."""
    return int(torch.empty((), dtype=_core.int64).random_(generator=generator).item())
