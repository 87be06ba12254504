"""The operators as functions, for what is made of them: bodies, gradient formulas, the modules around the table.

``torch.where``, ``aten.index_put`` and ``shim.add_runs`` are called as the functions of those names in torch and ``torch.ops``, and found
in the table when first asked for: the records are imported before torch is complete, and need nothing of its modules.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import function


class _Overloads(_core.OperatorCall):  # type: ignore[misc]
    """``torch.ops.aten.<name>``: a call chooses among the overloads, an attribute is one of them."""

    def __init__(self, qualified: str) -> None:
        self.qualified = qualified

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.__dict__[name] = _core.OperatorCall(self.qualified, "" if name == "default" else name)
        return found


class _Namespace:
    """``torch.ops.<namespace>``: any sequence is a list, and several results are a plain tuple."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        qualified = f"{self._namespace}::{name}"
        if name.startswith("__"):
            raise AttributeError(name)
        if self._namespace == "aten":
            from shim_torch._impl.table.rows import import_late  # a fork waits for it

            import_late("shim_torch._impl.table.aten").complete(name)
        if not _core.operator_overloads(qualified):
            raise AttributeError(f"there is no operator {qualified}")
        found = self.__dict__[name] = _Overloads(qualified)
        return found


class _Functions:
    """The functions of ``torch`` that are operators: arguments are taken as there, and several results are named."""

    def __getattr__(self, name: str) -> Any:
        qualified = f"aten::{name}"
        if name.startswith("__") or not _core.operator_overloads(qualified):
            raise AttributeError(f"torch has no operator {name}")
        found = self.__dict__[name] = function(qualified, "torch")
        return found


aten: Any = _Namespace("aten")
shim: Any = _Namespace("shim")
torch: Any = _Functions()
