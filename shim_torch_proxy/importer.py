"""The ``__import__`` of modules in scope, and the builtins dict that holds it. Does not change the interpreter."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import FrameType, ModuleType

from shim_torch_proxy import modules, stand_ins

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

try:
    from shim_torch_proxy._imports import Import, set_up
except ModuleNotFoundError:
    _tree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    _is_sources = os.path.exists(os.path.join(_tree, "pyproject.toml"))
    raise ImportError(
        f"shim_torch_proxy._imports is not built for {sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
        f"{' without a global interpreter lock' if 't' in sys.abiflags else ''}; install shim-torch with this Python: "
        f"{sys.executable} -m pip install shim-torch"
        + (f" (if it is installed, start Python in another folder than {_tree}, whose sources hide it)" * _is_sources),
        name="shim_torch_proxy._imports",
    ) from None

_plain_import = stand_ins.plain_import
_stand_ins = stand_ins.NAMES
_builtins = vars(builtins)  # its __import__ is looked up at each import: tests of libraries patch it
_loaded = modules.loaded
hidden: set[str] = set()  # the packages that are absent for code in scope; filled by hiding.py


def import_ours(
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
            if hidden and is_hidden(name):
                raise absent(name)
            if name[:5] != "torch" and name[:5] != "funct" or not modules.is_torch(name):
                return _builtins["__import__"](name, globals, locals, fromlist, level)
            module = modules.get(name, _who(globals))
        if fromlist:
            _handle_fromlist(module, name, fromlist, globals)
            return module
        top = name.partition(".")[0]
        return _loaded.get(top) or modules.get(top, _who(globals))
    return _builtins["__import__"](name, globals, locals, fromlist, level)


def is_hidden(module: str) -> bool:
    """Whether a module, or a package that it lies in, is hidden."""
    while module and module not in hidden:
        module = module.rpartition(".")[0]
    return bool(module)


def absent(name: str) -> ModuleNotFoundError:
    """The error for an import of a hidden module."""
    return ModuleNotFoundError(f"No module named {name!r} (it is hidden: enable_torch_proxy(hidden=...))", name=name)


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


def _process_import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """``__import__`` for modules loaded while the whole process is in scope: sys.modules has ours then, later it has not."""
    if level == 0 and not whole_process and (modules.is_torch(name) or name in stand_ins.LOOKUPS):
        return import_ours(name, globals, locals, fromlist, level)
    if level == 0 and (name in stand_ins.LOOKUPS or name[:10] == "importlib."):
        return stand_ins.imported(name, globals, fromlist)
    return _builtins["__import__"](name, globals, locals, fromlist, level)  # type: ignore[no-any-return]


def import_from_c(name: str, fromlist: Sequence[str] | None) -> ModuleType:
    """What libraries in scope get for an import of torch by a function of Python's C API."""
    if whole_process:
        return _builtins["__import__"](name, None, None, fromlist, 0)  # type: ignore[no-any-return]
    return import_ours(name, None, None, fromlist, 0)


whole_process = False  # whether sys.modules has ours now, or will once something imports torch; set by hook.py
# Imports of all but torch and stand-ins go to builtins.__import__ without a frame of ours between.
scoped_import = Import(import_ours, _loaded, _builtins, _stand_ins, hidden)
process_import = Import(_process_import, _loaded, _builtins, stand_ins.LOOKUPS, set())
_IMPORTS = (scoped_import, process_import)
scoped_builtins = stand_ins.ScopedBuiltins()
stand_ins.register("builtins", lambda: scoped_builtins)
SCOPED: dict[str, Any] = vars(scoped_builtins)
SCOPED.update(vars(builtins), __import__=scoped_import)
PROCESS: dict[str, Any] = dict(vars(builtins), __import__=process_import)
BLOCKED: dict[str, Any] = dict(vars(builtins), __import__=blocked_import)
_COPIES = (SCOPED, PROCESS, BLOCKED)
_OWN = frozenset({"__import__", "_stands_for"})  # what the copies have for themselves
set_up(import_from_c, _loaded, SCOPED)


class _Followed(ModuleType):
    """``builtins``, whose attributes reach our copies at once (before Python 3.12, which can watch a dict)."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        refresh()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        refresh()


_Followed.__name__ = _Followed.__qualname__ = "module"


def follow_builtins(stack: ExitStack) -> None:
    """Our copies have what is put into ``builtins`` from now on; before Python 3.12 until ``stack`` closes."""
    refresh()
    if sys.version_info < (3, 12):
        builtins.__class__ = _Followed
        stack.callback(setattr, builtins, "__class__", ModuleType)
    elif not _followed:
        from shim_torch_proxy._imports import follow

        for copy in _COPIES:
            follow(_builtins, copy, _OWN)
        _followed.append(True)


_followed: list[bool] = []


def refresh() -> None:
    """Copies what was put into ``builtins`` (by IPython, gettext, pytest) or taken out since our copies were made."""
    for copy in _COPIES:
        for name in [name for name in copy if name not in _builtins and name not in _OWN]:
            copy.pop(name, None)
        copy.update((name, value) for name, value in list(_builtins.items()) if name not in _OWN)


def frame_has_torch(frame: FrameType) -> bool:
    """Whether code of ``frame`` was loaded in a scope (``exec`` and nested functions inherit it)."""
    table = frame.f_builtins
    return table is SCOPED or table.get("__import__") in _IMPORTS


# Modules and top-level packages that look names up, pickle or run code for their callers, whose torch they get: the standard
# library's, and those whose functions we replace for that reason, which ``tools`` and ``pickling`` add.
for_callers: set[str] = {"shim_torch_proxy", "importlib_metadata", "importlib_resources"}


def is_between(name: str) -> bool:
    """Whether a module works for its callers."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in for_callers or name in for_callers


def asking_frame(depth: int = 1) -> FrameType | None:
    """The frame ``depth`` calls up; where that is the standard library's (pkgutil, unittest.mock), its caller's."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and not frame_has_torch(frame):
        name = _who(frame.f_globals)
        if not is_between(name):
            break
        frame = frame.f_back
    return frame


def asked_in_scope(main: bool = False) -> bool:
    """Whether the code whose import runs now was loaded in a scope; ``main``: or is the main module, which ran before."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _who(frame.f_globals).startswith(("importlib", "shim_torch_proxy.")):
        frame = frame.f_back
    return frame is not None and (
        frame_has_torch(frame) or main and _who(frame.f_globals) in ("__main__", "__mp_main__")
    )
