"""What code in scope resolves or loads itself: names (pkgutil, unittest.mock) and files (SourceFileLoader)."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import sys
from types import FunctionType, ModuleType

from shim_torch_proxy import importer, modules, stand_ins

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any


def resolve_name(name: str) -> Any:
    """``pkgutil.resolve_name`` of a name of torch: the longest part that is a module, then attributes."""
    path, colon, attributes = name.partition(":")
    parts, found = path.split("."), modules.get(path.partition(".")[0])
    deep = 1
    while deep < len(parts) and modules.exists(".".join(parts[: deep + 1])):
        deep += 1
        found = modules.get(".".join(parts[:deep]))
    if colon and deep < len(parts):
        found = modules.get(path)  # raises: this part is to be a module
    return functools.reduce(getattr, [*parts[deep:], *(attributes.split(".") if attributes else ())], found)


def _is_torch_name(name: Any) -> bool:
    """Whether ours is not in ``sys.modules``, where the plain function looks."""
    return not importer.whole_process and isinstance(name, str) and modules.is_torch(name.partition(":")[0])


def _stand_in_pkgutil() -> ModuleType:
    pkgutil = sys.modules["pkgutil"]

    @functools.wraps(pkgutil.resolve_name)
    def resolve(name: str) -> Any:
        return resolve_name(name) if _is_torch_name(name) else pkgutil.resolve_name(name)

    return stand_ins.StandIn(pkgutil, resolve_name=resolve)


def _stand_in_mock() -> ModuleType:
    mock: Any = sys.modules["unittest.mock"]

    def _get_target(target: Any) -> Any:
        owner, dot, attribute = target.rpartition(".") if isinstance(target, str) else ("", "", "")
        if not (dot and _is_torch_name(owner)):
            return mock._get_target(target)
        return functools.partial(resolve_name, owner), attribute

    plain = mock.patch
    patch = FunctionType(
        plain.__code__, {**vars(mock), "_get_target": _get_target}, "patch", plain.__defaults__, plain.__closure__
    )
    functools.update_wrapper(patch, plain)
    patch.__kwdefaults__ = plain.__kwdefaults__
    return stand_ins.StandIn(mock, patch=patch)


class ScopedUnittest(stand_ins.StandIn):
    """``unittest``: only ``mock`` differs."""

    @property
    def mock(self) -> Any:
        """``unittest.mock`` as code in scope sees it; AttributeError before its import."""
        real: Any = vars(self)["_stands_for"]
        return stand_ins.get("unittest.mock") if hasattr(real, "mock") else real.mock


stand_ins.register("pkgutil", _stand_in_pkgutil)
stand_ins.register("unittest", lambda: ScopedUnittest(sys.modules["unittest"]))
stand_ins.register("unittest.mock", _stand_in_mock)


class LoaderByHand(importlib.machinery.SourceFileLoader):
    """``SourceFileLoader``: what code in scope loads with a loader of its own, and no import statement, is in scope."""

    def exec_module(self, module: ModuleType) -> None:
        """Executes the module with our builtins."""
        vars(module).setdefault("__builtins__", importer.SCOPED)
        super().exec_module(module)

    def load_module(self, fullname: str | None = None) -> ModuleType:
        """The deprecated ``load_module`` of loaders, with our builtins."""
        name = fullname or self.name
        module = sys.modules.get(name) or ModuleType(name)
        vars(module).update(
            __spec__=importlib.util.spec_from_file_location(name, self.path, loader=self), __file__=self.path
        )
        sys.modules[name] = module
        try:
            self.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return sys.modules[name]


LoaderByHand.__name__ = LoaderByHand.__qualname__ = "SourceFileLoader"
