"""``torch.special``: special functions, from the operator table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shim_torch._impl.table.operators import functions as _table

globals().update(_table("special"))
__all__ = [*_table("special")]

if TYPE_CHECKING:  # the names come from the table

    def __getattr__(name: str) -> Any: ...
