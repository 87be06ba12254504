"""The tables of functions in ``torch._C``: ``_VariableFunctions``, ``_fft``, ``_linalg``, ``_special`` and ``_sparse``.

Code that lists PyTorch's functions, its test support above all, names every one of them. A function that PyTorch has and that is
not here raises NotImplementedError when it is called, and says its name.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from shim_torch._impl.native import _core


@cache
def aten_function(name: str, module: str) -> Any:
    """``aten::name`` as a function of ``module``; one that refuses where PyTorch has it and it is not here; else None."""
    from shim_torch._impl.table import aten

    aten.complete(name)
    if _core.operator_overloads(f"aten::{name}"):
        return _core.function(f"aten::{name}", module)
    if not aten.has_operator(name):
        return None
    from shim_torch._impl.surface.not_built import names

    return names(module, "there is no such operator here", name)[name]


class _Table(ModuleType):
    """Functions of a family of operators, looked up by their names."""

    def __init__(self, name: str, prefix: str) -> None:
        super().__init__(f"torch._C.{name}")
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name.startswith((self._prefix, f"_{self._prefix}")):
            found = aten_function(name, self.__name__)
            if found is not None:
                return found
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


class _VariableFunctionsClass:
    """Every function of the operators; those of ``torch`` are the same objects."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        import shim_torch

        try:
            return getattr(shim_torch, name)
        except AttributeError:
            found = None if name.startswith("__") and not name.endswith("__") else aten_function(name, "torch")
            if found is None:
                raise
            return found

    def __dir__(self) -> list[str]:
        import shim_torch

        known = vars(shim_torch)  # functions all; what dir names besides is loaded when asked for
        return [name for name in dir(shim_torch) if callable(value := known.get(name)) and not isinstance(value, type)]


_VariableFunctionsClass.__module__ = "torch._C"
_VariableFunctions = _VariableFunctionsClass()
_fft, _linalg, _special = _Table("_fft", "fft_"), _Table("_linalg", "linalg_"), _Table("_special", "special_")
_sparse = _Table("_sparse", "sparse_")
