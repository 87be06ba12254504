"""How long PyTorch's process groups wait."""

from __future__ import annotations

from datetime import timedelta

from shim_torch._impl.surface.missing import asked_of as _asked_of

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_timeout: timedelta = timedelta(minutes=30)
default_pg_nccl_timeout: timedelta | None = timedelta(minutes=10)

__getattr__ = _asked_of(__name__)
