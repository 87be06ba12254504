"""The standard library's functions that look a module up by name, as code in scope sees them. Installed by ``hook``."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType

from shim_torch_proxy import importer, metadata, modules, stand_ins
from shim_torch_proxy.by_name import LoaderByHand
from shim_torch_proxy.finder import ScopeFinder, TorchLoader, find_spec_for
from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Change: TypeAlias = "tuple[Any, str, Any]"  # (owner, attribute, replacement)
Ask = Callable[[int], bool]  # (depth) -> whether the caller that many frames up is in scope


def changes(scope: Callable[[], Scope], in_scope: Ask) -> Iterator[Change]:
    """The functions that replace importlib's and runpy's."""
    for owner, name, make in (
        (importlib, "import_module", _import_module),
        (importlib, "__import__", _dunder_import),
        (importlib, "reload", _reload),
        (importlib.util, "find_spec", _find_spec),
        (importlib.util, "module_from_spec", _module_from_spec),
        (runpy, "run_module", _run),
        (runpy, "run_path", _run),
    ):
        original = getattr(owner, name)
        yield owner, name, functools.wraps(original)(make(original, scope, in_scope))
    yield importlib.util.LazyLoader, "exec_module", _exec_lazily(importlib.util.LazyLoader.exec_module)


def _absolute(name: Any, package: Any) -> str:
    """The absolute name where it may be torch's, else ""."""
    if not isinstance(name, str) or not name.startswith("."):
        return name if isinstance(name, str) else ""
    if not isinstance(package, str) or not modules.is_torch(package):
        return ""
    return importlib.util.resolve_name(name, package)


def _requester(depth: int = 2) -> str:
    frame = importer.asking_frame(depth)
    return "?" if frame is None else str(frame.f_globals.get("__name__", "?"))


def _import_module(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    def import_module(name: str, package: str | None = None) -> ModuleType:
        wanted = _absolute(name, package)
        if wanted and modules.is_torch(wanted):
            whole = scope().names is None
            if in_scope(2) is not whole:
                if whole:
                    raise _refused(wanted)
                return modules.get(wanted, _requester())
        if (
            name == "sys" and scope().names is not None and in_scope(2)
        ):  # pkgutil.resolve_name("sys.modules"), to be patched
            return stand_ins.get(name)
        return original(name, package)

    return import_module


def _refused(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r} ({_requester(3)} is blocked for our torch)", name=name)


def _dunder_import(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if isinstance(name, str) and not level and modules.is_torch(name) and scope().names is not None and in_scope(2):
            return importer.import_ours(name, globals, locals, tuple(fromlist or ()), 0)
        return original(name, globals, locals, fromlist, level)

    return __import__


def _find_spec(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    def find_spec(name: str, package: str | None = None) -> Any:
        wanted = _absolute(name, package)
        if wanted and modules.is_torch(wanted):
            if in_scope(2):
                return find_spec_for(wanted)
            if scope().names is None:
                return None  # blocked
        return original(name, package)

    return find_spec


def _module_from_spec(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    """A module that code in scope makes (a generated kernel's file) is in scope, whatever it is called.

    An extension module that it takes from a file, past the finders, is loaded as an imported one: beside the stand-ins.
    """

    def module_from_spec(spec: Any) -> ModuleType:
        loader = getattr(spec, "loader", None)
        if (
            isinstance(loader, importlib.machinery.ExtensionFileLoader)
            and "create_module" not in vars(loader)
            and in_scope(2)
        ):
            for finder in [f for f in sys.meta_path if isinstance(f, ScopeFinder)]:
                finder.shadow_native(spec, scope().names is not None)
        module = original(spec)
        total = scope()
        if total.names is not None and not modules.is_torch(spec.name) and (_is_inside(spec, total) or in_scope(2)):
            vars(module).setdefault("__builtins__", importer.SCOPED)
        return module

    return module_from_spec


def _is_inside(spec: Any, scope: Scope) -> bool:
    """Whether a module that anyone makes from a spec is one of a package in scope, by its name or its file."""
    own = [f for f in sys.meta_path if isinstance(f, ScopeFinder)]
    return scope.covers(spec.name) or any(scope.covers(f.name_by_file(spec)) for f in own)


def _reload(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    def reload(module: ModuleType) -> ModuleType:
        if any(module is ours for ours in modules.loaded.values()):
            return module  # executing ours again would make a second set of classes
        return original(module)

    return reload


def _run(original: Any, scope: Callable[[], Scope], in_scope: Ask) -> Any:
    is_module = original.__name__ == "run_module"

    def run(path: str, init_globals: Any = None, run_name: Any = None, **kwargs: Any) -> Any:
        total = scope()
        inside = is_module and isinstance(path, str) and total.names is not None and total.covers(path)
        if total.names is not None and (inside or importer.frame_has_torch(sys._getframe(1))):
            init_globals = {"__builtins__": importer.SCOPED, **(init_globals or {})}
        return original(path, init_globals, run_name, **kwargs)

    return run


def _exec_lazily(original: Any) -> Any:
    """``LazyLoader`` defers a module by changing its class; ours is executed already and is left alone."""

    @functools.wraps(original)
    def exec_module(self: Any, module: ModuleType) -> None:
        if isinstance(self.loader, TorchLoader):
            self.loader.exec_module(module)
        else:
            original(self, module)

    return exec_module


_always: Ask = lambda depth: True
_NAMED, _WHOLE = Scope(frozenset()), Scope(None)


def _present() -> Scope:
    """While the whole process is in scope, ``sys.modules`` has ours, and the finders are asked for the rest."""
    return _WHOLE if importer.whole_process else _NAMED


def _stand_in_importlib() -> ModuleType:
    own = {
        "import_module": _import_module(_import_now, _present, _always),
        "__import__": _dunder_import(_dunder_import_now, _present, _always),
        "reload": _reload(importlib.reload, lambda: _NAMED, _always),
    }
    return ScopedImportlib(importlib, **{name: functools.wraps(getattr(importlib, name))(f) for name, f in own.items()})


def _import_now(name: str, package: str | None = None) -> ModuleType:
    """The present ``importlib.import_module``: it is replaced while a scope is enabled, and by tests."""
    module = importlib.import_module(name, package)
    return stand_ins.get(name) if name in stand_ins.NAMES else module


def _dunder_import_now(*args: Any) -> ModuleType:
    return importlib.__import__(*args)


def _find_now(name: str, package: str | None = None) -> Any:
    return importlib.util.find_spec(name, package)


class ScopedImportlib(stand_ins.StandIn):
    """``importlib`` whose functions import for code in scope, whoever calls them."""

    @property
    def util(self) -> ModuleType:
        """``importlib.util`` as code in scope sees it."""
        return stand_ins.get("importlib.util")

    @property
    def machinery(self) -> ModuleType:
        """``importlib.machinery`` as code in scope sees it."""
        return stand_ins.get("importlib.machinery")

    @property
    def metadata(self) -> Any:
        """``importlib.metadata`` as code in scope sees it; AttributeError before its import."""
        return stand_ins.get("importlib.metadata") if hasattr(importlib, "metadata") else importlib.metadata


def _stand_in_machinery() -> ModuleType:
    return stand_ins.StandIn(importlib.machinery, SourceFileLoader=LoaderByHand)


def _stand_in_util() -> ModuleType:
    own = {
        "find_spec": _find_spec(_find_now, lambda: _NAMED, _always),
        "module_from_spec": _module_from_spec(importlib.util.module_from_spec, lambda: _NAMED, _always),
    }
    return stand_ins.StandIn(importlib.util, **own)


def _stand_in_metadata(name: str) -> ModuleType:
    package = sys.modules[name]
    answers = {what: answer for owner, what, answer in metadata.answers(package, lambda: True) if owner is package}

    def ask(what: str) -> Any:
        def call(*args: Any) -> Any:
            if args and not metadata.is_torch(args[0]):
                return getattr(package, what)(*args)
            return answers[what](*args)

        return functools.wraps(getattr(package, what))(call)

    return stand_ins.StandIn(package, **{what: ask(what) for what in answers})


stand_ins.register("importlib", _stand_in_importlib)
stand_ins.register("importlib.util", _stand_in_util)
stand_ins.register("importlib.machinery", _stand_in_machinery)
for _name in ("importlib.metadata", "importlib_metadata"):
    stand_ins.register(_name, functools.partial(_stand_in_metadata, _name))


def inspecting(inspect: ModuleType) -> Iterator[Change]:
    """Files and sources of our classes: inspect uses sys.modules, where ours may be absent or another's."""
    getmodule, getfile = inspect.getmodule, inspect.getfile

    @functools.wraps(getmodule)
    def find_module(object: Any, _filename: Any = None) -> Any:
        return _module_of(object) or getmodule(object, _filename)

    @functools.wraps(getfile)
    def find_file(object: Any) -> Any:
        module = _module_of(object) if isinstance(object, type) else None
        return getfile(object if module is None else module)

    yield inspect, "getmodule", find_module
    yield inspect, "getfile", find_file


def _module_of(object: Any) -> ModuleType | None:
    """Our module that holds a class or function of ours under its own name."""
    if not isinstance(object, (type, FunctionType, BuiltinFunctionType)):  # no other module: PyTorch's answer any name
        return None
    name = getattr(object, "__module__", None)
    module = (
        modules.loaded.get(name) or _loaded_real(name) if isinstance(name, str) and modules.is_torch(name) else None
    )
    found: Any = module
    for part in str(getattr(object, "__qualname__", "")).split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return module if found is object and found is not None else None


def _loaded_real(name: str) -> ModuleType | None:
    return sys.modules.get(modules.real(name))
