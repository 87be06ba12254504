"""The ``__import__`` of modules in scope, and the builtins that carry it. Changes nothing of the interpreter."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from types import FrameType, ModuleType
from typing import Any

from compat import modules

_plain_import = builtins.__import__
_builtins = vars(builtins)  # its __import__ is looked up at each import: tests of libraries replace it for a while
_loaded = modules.loaded


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
    """``__import__`` for a module in scope: torch is ours, all else is as always."""
    if level == 0:
        module = _loaded.get(name)
        if module is None:
            if name == "sys":
                return _scoped_sys
            if name == "builtins":
                return scoped_builtins
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


class _ScopedBuiltins(ModuleType):
    """``builtins`` for modules in scope: only ``__import__`` differs; what is set or deleted is so in the real one too."""

    def __getattr__(self, name: str) -> Any:
        return getattr(builtins, name)  # added since the copy was made

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__import__":
            vars(self)[name] = value  # asks itself for all but torch: the real one stays what it is
            return
        setattr(builtins, name, value)
        vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(builtins, name)
        vars(self).pop(name, None)

    def __repr__(self) -> str:
        return repr(builtins)

    def __eq__(self, other: object) -> bool:
        return other is self or other is builtins

    def __hash__(self) -> int:
        return hash(builtins)

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_import, ("builtins",)


scoped_builtins = _ScopedBuiltins("builtins")
SCOPED: dict[str, Any] = vars(scoped_builtins)
SCOPED.update(vars(builtins), __import__=scoped_import)
BLOCKED: dict[str, Any] = dict(vars(builtins), __import__=blocked_import)


def refresh() -> None:
    """Takes over names that were added to ``builtins`` (IPython, gettext, pytest) since the copies were made."""
    for copy in (SCOPED, BLOCKED):
        own = copy["__import__"]
        copy.update(vars(builtins))
        copy["__import__"] = own


def frame_has_torch(frame: FrameType) -> bool:
    """Whether code of ``frame`` was loaded in a scope (``exec`` and nested functions inherit it)."""
    table = frame.f_builtins
    return table is SCOPED or table.get("__import__") is scoped_import


_BETWEEN = frozenset(
    {*sys.stdlib_module_names, "importlib_metadata", "importlib_resources", "compat", "pkg_resources", "cloudpickle", "dill"}
)
_HELPERS = frozenset({"_pytest.outcomes", "_pytest.monkeypatch"})


def asking_frame(depth: int = 1) -> FrameType | None:
    """The frame that asks, ``depth`` calls up: code of the standard library (pkgutil, unittest.mock) asks for its caller."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and not frame_has_torch(frame):
        name = _who(frame.f_globals)
        if name.partition(".")[0] not in _BETWEEN and name not in _HELPERS:
            break
        frame = frame.f_back
    return frame


def asked_in_scope() -> bool:
    """Whether the import that runs is of code that was loaded in a scope."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _who(frame.f_globals).startswith(("importlib", "compat.")):
        frame = frame.f_back
    return frame is not None and frame_has_torch(frame)


class _ModulesView(MutableMapping[str, Any]):
    """``sys.modules`` as a module in scope sees it: the real one, with our torch in the place of any other."""

    def __getitem__(self, name: str) -> Any:
        if modules.is_torch(name):
            return _loaded[name]
        return sys.modules[name]

    def get(self, name: str, default: Any = None) -> Any:
        return _loaded.get(name, default) if modules.is_torch(name) else sys.modules.get(name, default)

    def __setitem__(self, name: str, module: Any) -> None:
        if modules.is_torch(name):
            _loaded[name] = module
        else:
            sys.modules[name] = module

    def __delitem__(self, name: str) -> None:
        if modules.is_torch(name):
            del _loaded[name]
        else:
            del sys.modules[name]

    def __contains__(self, name: object) -> bool:
        return name in _loaded if isinstance(name, str) and modules.is_torch(name) else name in sys.modules

    def __iter__(self) -> Iterator[str]:
        yield from [name for name in list(sys.modules) if not modules.is_torch(name)]
        yield from list(_loaded)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        for name in [name for name in list(sys.modules) if not modules.is_torch(name)]:
            sys.modules.pop(name, None)
        _loaded.clear()

    def copy(self) -> dict[str, Any]:
        return dict(self)

    __copy__ = copy

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return repr(dict(self))


class _ScopedSys(ModuleType):
    """``sys`` for modules in scope: only ``modules`` differs; all else is read from and written to the real one."""

    @property
    def modules(self) -> _ModulesView:
        return _view

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(sys, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(sys, name)

    def __dir__(self) -> list[str]:
        return dir(sys)

    def __repr__(self) -> str:
        return repr(sys)

    def __eq__(self, other: object) -> bool:
        return other is self or other is sys

    def __hash__(self) -> int:
        return hash(sys)

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_import, ("sys",)


class CallersSys(_ScopedSys):
    """``sys`` for a module that looks modules up for its callers; ``in_scope`` says whether the present one has ours."""

    def __init__(self, in_scope: Callable[[], bool]) -> None:
        super().__init__("sys", sys.__doc__)
        _read_through(self)
        vars(self)["in_scope"] = in_scope

    @property
    def modules(self) -> Any:
        return _view if vars(self)["in_scope"]() else sys.modules


def _read_through(module: ModuleType) -> None:
    for name in ("__spec__", "__loader__", "__package__", "__doc__"):
        vars(module).pop(name, None)  # the real ones are read


_view = _ModulesView()
_scoped_sys = _ScopedSys("sys", sys.__doc__)
_read_through(_scoped_sys)
