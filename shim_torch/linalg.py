"""``torch.linalg``: matrix decompositions, norms, linear systems, from the operator table."""

from __future__ import annotations

from typing import Any

from shim_torch.ops import functions as _table
from shim_torch.ops._matrices import LinAlgError

globals().update(_table("linalg"))
__all__ = ["LinAlgError", *_table("linalg")]


def _attribute(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.linalg", name)


__getattr__ = _attribute  # a name and no function: type checkers resolve it within import cycles
