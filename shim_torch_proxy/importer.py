"""The ``__import__`` of modules in scope, and the builtins dict that holds it. Does not change the interpreter."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any

from shim_torch_proxy import modules, stand_ins

_plain_import = stand_ins.plain_import
_stand_ins = stand_ins.NAMES
_builtins = vars(builtins)  # its __import__ is looked up at each import: tests of libraries patch it
_loaded = modules.loaded
is_hidden: Callable[[str], bool] | None = None  # set by ``hiding`` while packages are hidden


class _Restore:
    """Puts ``sys.modules[name]`` back when the list that holds it dies."""

    __slots__ = ("before", "name")

    def __init__(self, name: str) -> None:
        self.name, self.before = name, sys.modules.get(name)

    def __del__(self) -> None:
        if self.before is None:
            sys.modules.pop(self.name, None)
        else:
            sys.modules[self.name] = self.before


def scoped_import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """``__import__`` for a module in scope: torch is ours, everything else is unchanged."""
    if level == 0:
        module = _loaded.get(name)
        if module is None:
            if name in _stand_ins or name[:10] == "importlib.":
                return stand_ins.imported(name, globals, fromlist)
            if is_hidden is not None and is_hidden(name):
                raise ModuleNotFoundError(f"No module named {name!r} (it is hidden)", name=name)
            if name[:5] != "torch" and name[:5] != "funct" or not modules.is_torch(name):
                return _builtins["__import__"](name, globals, locals, fromlist, level)
            module = modules.get(name, _who(globals))
        if fromlist:
            _handle_fromlist(module, name, fromlist, globals)
            return module
        if type(fromlist) is list:
            # PyImport_Import (pickle, pybind11) drops our result and reads sys.modules, then frees this list.
            # No bytecode runs between, so no other thread sees ours there.
            fromlist.append(_Restore(name))  # type: ignore[arg-type]
            sys.modules[name] = module
        top = name.partition(".")[0]
        return _loaded.get(top) or modules.get(top, _who(globals))
    return _builtins["__import__"](name, globals, locals, fromlist, level)


def _who(globals: Mapping[str, Any] | None) -> str:
    return str(globals.get("__name__", "?")) if globals else "?"


def _handle_fromlist(module: ModuleType, name: str, fromlist: Sequence[str], globals: Mapping[str, Any] | None) -> None:
    for attribute in fromlist:
        if attribute in module.__dict__:
            continue
        if attribute == "*":
            _handle_fromlist(module, name, [n for n in getattr(module, "__all__", ()) if n != "*"], globals)
        elif hasattr(module, "__path__") and modules.exists(f"{name}.{attribute}"):
            if attribute not in module.__dict__:
                setattr(module, attribute, modules.get(f"{name}.{attribute}"))


def blocked_import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """``__import__`` for a blocked module while the whole process is in scope: there is no torch."""
    if level == 0 and modules.is_torch(name):
        raise ModuleNotFoundError(f"No module named {name!r} ({_who(globals)} is blocked for our torch)", name=name)
    return _plain_import(name, globals, locals, fromlist, level)  # type: ignore[arg-type]


scoped_builtins = stand_ins.ScopedBuiltins()
stand_ins.register("builtins", lambda: scoped_builtins)
SCOPED: dict[str, Any] = vars(scoped_builtins)
SCOPED.update(vars(builtins), __import__=scoped_import)
BLOCKED: dict[str, Any] = dict(vars(builtins), __import__=blocked_import)


def refresh() -> None:
    """Copies names that were added to ``builtins`` (by IPython, gettext, pytest) since our copies were made."""
    for copy in (SCOPED, BLOCKED):
        own = copy["__import__"]
        copy.update(vars(builtins))
        copy["__import__"] = own


def frame_has_torch(frame: FrameType) -> bool:
    """Whether code of ``frame`` was loaded in a scope (``exec`` and nested functions inherit it)."""
    table = frame.f_builtins
    return table is SCOPED or table.get("__import__") is scoped_import


_BETWEEN = frozenset(
    {
        *sys.stdlib_module_names,
        "importlib_metadata",
        "importlib_resources",
        "shim_torch_proxy",
        "pkg_resources",
        "cloudpickle",
        "dill",
    }
    | {"joblib", "loky", "multiprocess", "lazy_loader"}
)
_HELPERS = frozenset({"_pytest.outcomes", "_pytest.monkeypatch"})


def asking_frame(depth: int = 1) -> FrameType | None:
    """The frame ``depth`` calls up; where that is the standard library's (pkgutil, unittest.mock), its caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and not frame_has_torch(frame):
        name = _who(frame.f_globals)
        if name.partition(".")[0] not in _BETWEEN and name not in _HELPERS:
            break
        frame = frame.f_back
    return frame


def asked_in_scope() -> bool:
    """Whether the code whose import runs now was loaded in a scope."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _who(frame.f_globals).startswith(("importlib", "shim_torch_proxy.")):
        frame = frame.f_back
    return frame is not None and frame_has_torch(frame)
