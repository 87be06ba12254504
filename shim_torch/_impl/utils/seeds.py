"""Seeds of generators, drawn from generators."""

from __future__ import annotations

from typing import Any


def drawn_seed(generator: Any = None) -> int:
    """A number of 63 bits from a ``torch.Generator``, or from the default one."""
    import shim_torch

    return int(shim_torch.empty((), dtype=shim_torch.int64).random_(generator=generator).item())
