"""``torch.linalg``: matrix decompositions, norms, linear systems, from the operator table."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.matrices import LinAlgError
from shim_torch._impl.table.operators import functions as _table

globals().update(_table("linalg"))
__all__ = ["LinAlgError", *_table("linalg")]


def _attribute(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.linalg", name)


__getattr__ = _attribute  # a name and no function: type checkers resolve it within import cycles
