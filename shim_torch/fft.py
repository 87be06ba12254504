"""``torch.fft``: discrete Fourier transforms, from the operator table."""

from __future__ import annotations

from shim_torch._impl.table.operators import functions as _table

globals().update(_table("fft"))
__all__ = [*_table("fft")]
