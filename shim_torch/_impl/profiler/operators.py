"""``torch.ops.profiler``: the operators that begin and end a named range."""

from __future__ import annotations

from typing import Any

from shim_torch import _ops
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch.autograd.profiler import record_function
from shim_torch.library import Library

__all__: list[str] = []

_RECORD = "__torch__.torch.classes.profiler._RecordFunction"
_open: dict[int, record_function] = {}


class _RecordFunction:
    """A range that was begun."""

    def __init__(self, name: str, args: str | None) -> None:
        self._range = record_function(name, args)
        self._range.__enter__()

    def __repr__(self) -> str:
        return f"ScriptObject <{_RECORD}>"


def _enter_new(name: str, args: str | None = None) -> _RecordFunction:
    return _RecordFunction(name, args)


def _exit_new(record: Any) -> None:
    record._range.__exit__()


def _enter(name: str, args: str | None = None) -> Any:
    """The older form: the handle is a tensor, which knows the range by its address."""
    handle = torch.empty(64, dtype=_core.uint8)
    _open[handle.data_ptr()] = found = record_function(name, args)
    found.__enter__()
    return handle


def _exit(handle: Any) -> None:
    found = _open.pop(handle.data_ptr(), None)
    if found is not None:
        found.__exit__()


_library = Library("profiler", "FRAGMENT")
for _schema, _function in (
    (f"_record_function_enter_new(str name, str? args=None) -> {_RECORD}", _enter_new),
    ("_record_function_exit(Tensor handle) -> ()", _exit),
    (f"_record_function_exit._RecordFunction({_RECORD} record) -> ()", _exit_new),
    ("_record_function_enter(str name, str? args=None) -> Tensor", _enter),
):
    _library.define(_schema)
    _library.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")
_ops.forget("profiler::_record_function_exit")
