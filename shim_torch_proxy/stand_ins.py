"""Modules of the standard library as code in scope sees them: proxies that differ only where torch is concerned.

A stand-in reads and writes the real module's attributes, except its own. Code keeps its stand-ins after its scope is
disabled, as it keeps its torch.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from types import ModuleType

from shim_torch_proxy import modules

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

plain_import = builtins.__import__
_loaded = modules.loaded

NAMES: dict[str, Callable[[], ModuleType]] = {}  # module name -> the function that makes its stand-in
LOOKUPS = frozenset({"importlib", "pkgutil", "unittest", "unittest.mock"})  # the stand-ins that import by name
_made: dict[str, ModuleType] = {}


def register(name: str, make: Callable[[], ModuleType]) -> None:
    """``make()`` gives the stand-in for the module ``name``, which is imported by then."""
    NAMES[name] = make


def get(name: str) -> ModuleType:
    """The stand-in for a module that is registered and imported."""
    if name not in _made:
        _made[name] = NAMES[name]()
    return _made[name]


def imported(name: str, globals: Mapping[str, Any] | None, fromlist: Any) -> ModuleType:
    """What ``__import__`` returns to code in scope for a registered module, or one within a registered package."""
    module: ModuleType = vars(builtins)["__import__"](name, globals, None, fromlist, 0)
    if not fromlist:
        return get(name.partition(".")[0])
    return get(name) if name in NAMES else module


class ModulesView(MutableMapping[str, "Any"]):
    """``sys.modules`` as a module in scope sees it: the real one, with our torch in the place of any other."""

    def __getitem__(self, name: str) -> Any:
        if modules.is_torch(name):
            return modules.now(name)
        return sys.modules[name]

    def __setitem__(self, name: str, module: Any) -> None:
        if modules.is_torch(name):
            _loaded[name] = module
        else:
            sys.modules[name] = module

    def __delitem__(self, name: str) -> None:
        if modules.is_torch(name):
            modules.forget(name)
        else:
            del sys.modules[name]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not modules.is_torch(name):
            return name in sys.modules
        try:
            modules.now(name)
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        yield from [name for name in list(sys.modules) if not modules.is_torch(name)]
        yield from modules.seen()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        """Empties both ``sys.modules`` and our torch modules."""
        for name in [name for name in list(sys.modules) if not modules.is_torch(name)]:
            sys.modules.pop(name, None)
        for name in modules.seen():
            modules.forget(name)

    def copy(self) -> dict[str, Any]:
        """A plain dict of what the view shows."""
        return dict(self)

    __copy__ = copy

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return repr(dict(self))


class _Kind(type):
    """``type(sys)`` is how code spells ``types.ModuleType``: to compare with, to ask ``isinstance``, to make modules."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, ModuleType)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, ModuleType)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is ModuleType

    def __hash__(cls) -> int:
        return hash(ModuleType)

    def __call__(cls, *args: Any, **own: Any) -> Any:
        is_name = isinstance(args[0] if args else own.get("name"), str)
        return ModuleType(*args, **own) if is_name else super().__call__(*args, **own)


class StandIn(ModuleType, metaclass=_Kind):
    """Reads, writes and compares as the module it stands for, except for the attributes given to it."""

    def __init__(self, real: ModuleType, **own: Any) -> None:
        super().__init__(real.__name__)
        for name in ("__spec__", "__loader__", "__package__", "__doc__", "__name__"):
            vars(self).pop(name, None)  # the real ones are read
        vars(self).update(own, _stands_for=real)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_stands_for"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            vars(self)[name] = value  # a test patches an attribute of ours, and later restores it
        else:
            setattr(vars(self)["_stands_for"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(vars(self)["_stands_for"], name)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_stands_for"])

    def __repr__(self) -> str:
        return repr(vars(self)["_stands_for"])

    def __eq__(self, other: object) -> bool:
        return other is self or other is vars(self)["_stands_for"]

    def __hash__(self) -> int:
        return hash(vars(self)["_stands_for"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _imported_by_name, (vars(self)["_stands_for"].__name__,)


def _imported_by_name(name: str) -> ModuleType:
    return plain_import(name, fromlist=("__name__",))


class ScopedSys(StandIn):
    """``sys``: only ``modules`` differs."""

    @property
    def modules(self) -> Any:
        """The view of ``sys.modules`` that has our torch."""
        return _view


class CallersSys(StandIn):
    """``sys`` for a module that looks modules up for its callers; ``in_scope`` says whether the present one has ours."""

    def __init__(self, in_scope: Callable[[], bool]) -> None:
        super().__init__(sys, _in_scope=in_scope)

    @property
    def modules(self) -> Any:
        """The view with our torch for callers in scope, ``sys.modules`` itself for others."""
        return _view if vars(self)["_in_scope"]() else sys.modules


class ScopedBuiltins(StandIn):
    """``builtins``: its dict is the one that functions in scope use; setting and deleting change the real module."""

    def __init__(self) -> None:
        super().__init__(builtins)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "__import__":  # which passes everything but torch to the real one
            setattr(builtins, name, value)
        vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(builtins, name)
        vars(self).pop(name, None)


_view = ModulesView()
_scoped_sys = ScopedSys(sys)
register("sys", lambda: _scoped_sys)
