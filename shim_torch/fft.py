"""``torch.fft``: discrete Fourier transforms, from the operator table."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.operators import functions as _table

globals().update(_table("fft"))
__all__ = [*_table("fft")]


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.fft", name)
