"""The first finder of ``sys.meta_path``: it executes modules in scope with our builtins, and changes nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import FrameType, ModuleType

from shim_torch_proxy import adapters, importer, modules, requirements
from shim_torch_proxy._imports import bind
from shim_torch_proxy.scope import OURS, Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

State = Callable[[], Scope]


native_importers: set[str] = set()  # extension modules whose imports from C are answered with our torch
_own_specs: dict[str, Any] = {}  # by torch name: our modules' specs, put back after an import


class TorchLoader:
    """Loads ``torch.x``: hands over our module object, which is executed already and keeps its own spec."""

    def __init__(self, done: Callable[[], None] | None = None) -> None:
        self.done = done

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module object of the import protocol: ours of that name."""
        self.name = spec.name
        return modules.get(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module's own spec back; its code has run already."""
        module.__spec__ = _own_specs[self.name]
        if sys.modules.get(self.name) is module:
            # Sub-modules that came with it: importing one later would put it where the package may have a function of its name.
            came = {name: child for name, child in modules.tree().items() if name.startswith(f"{self.name}.")}
            for name, child in came.items():
                sys.modules.setdefault(name, child)
        if self.done is not None:
            self.done()

    def get_code(self, name: str) -> Any:
        """The code of our module, for ``python -m torch.x``."""
        return self._own(name, "get_code")

    def get_source(self, name: str) -> str | None:
        """The source text of our file, or None."""
        return self._own(name, "get_source")

    def get_filename(self, name: str) -> str:
        """The path of our file."""
        return str(modules.get(name).__file__)

    def is_package(self, name: str) -> bool:
        """Whether the module has sub-modules."""
        return hasattr(modules.get(name), "__path__")

    def _own(self, name: str, what: str) -> Any:
        loader: Any = getattr(modules.get(name).__spec__, "loader", None)
        return getattr(loader, what)(modules.real(name)) if hasattr(loader, what) else None


def torch_spec(name: str, done: Callable[[], None] | None = None) -> ModuleSpec | None:
    """The spec that ``find_spec`` answers for our ``torch.x``; None when there is no such module.

    ``done`` is called once the import system has the module.
    """
    if not modules.exists(name):
        return None
    module = modules.get(name)
    _own_specs.setdefault(name, module.__spec__)
    origin = getattr(module, "__file__", None)
    spec = ModuleSpec(name, TorchLoader(done), origin=origin, is_package=hasattr(module, "__path__"))  # type: ignore[arg-type]
    spec.has_location = origin is not None
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.extend(module.__path__)
    return spec


class ScopeFinder:
    """Delegates to the other finders; a module in scope is executed with builtins of its own.

    ``spec.loader`` stays the original object: only its ``exec_module`` is shadowed, and until it is called.
    """

    def __init__(
        self,
        scope: State,
        exposed: Callable[[], bool],
        join: Callable[[str], None],
        waiting: Callable[[], bool] = lambda: False,
        begin: Callable[[], None] = lambda: None,
        language: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.scope, self.exposed, self.join, self.language = scope, exposed, join, language
        self.waiting, self.begin = waiting, begin
        self.folders: dict[str, str] = {}  # the folders of top-level packages in scope -> their names
        self.after: dict[str, Callable[[ModuleType], None]] = {}  # module name -> called once it is executed
        self.after_of: Callable[[str], Callable[[ModuleType], None] | None] = lambda name: None  # the same, by a rule

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """For torch, our module's spec; for modules in scope, the other finders' spec with our builtins; else None."""
        if modules.is_torch(fullname):
            waiting = self.waiting()
            if not (waiting or self.exposed()):
                if name := _asked_of_ours():
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
                if fullname == "torch._C":
                    _check_libraries()
                return None
            found = torch_spec(fullname, self.begin if waiting else None)
            if found is None and (error := modules.unsupported(fullname)) is not None:
                raise error  # importlib's own says nothing of what to do; find_spec for code in scope does not come here
            return found
        scope = self.scope()
        covered = scope.names is not None and scope.covers(fullname)
        if not covered and scope.names is not None and "." not in fullname and self._joins(fullname, scope, path):
            self.join(fullname)
            scope, covered = self.scope(), True
        if fullname in adapters.FAMILIES and (covered or scope.names is None):
            self.language(fullname)
        inside = not covered and scope.names is not None and self._near(path)
        blocked = scope.names is None and scope.blocks(fullname)
        after = self.after.get(fullname) or self.after_of(fullname)
        process = scope.names is None and not blocked and fullname.partition(".")[0] not in OURS
        if not (covered or inside or blocked or after or process):
            return None
        spec = self._others(fullname, path, target)
        if spec is None or spec.loader is None or isinstance(spec.loader, type):
            return spec
        if covered and spec.submodule_search_locations and "." not in fullname:
            self.folders.update((os.path.join(place, ""), fullname) for place in spec.submodule_search_locations)
        covered = covered or (inside and scope.covers(self.name_by_file(spec)))
        if (covered or process) and isinstance(spec.loader, ExtensionFileLoader):
            self.shadow_native(spec, covered)
        elif covered or blocked or after or process:
            table = importer.SCOPED if covered else importer.BLOCKED if blocked else None
            if process and not importer.is_between(fullname):
                table = importer.PROCESS
            self._shadow(spec, table, after)
        return spec

    def _joins(self, package: str, scope: Scope, path: Sequence[str] | None) -> bool:
        """Whether a package that code in scope imports needs torch; optional packages appear in no requirement."""
        language = package in adapters.FAMILIES
        if (
            package in sys.stdlib_module_names
            or scope.blocks(package)
            or not importer.asked_in_scope(main=language and scope.covers("__main__"))
            or not (language or requirements.uses_torch(package))
        ):
            return False
        spec = self._others(package, path, None) if self._near(path) else None
        return spec is None or not self.name_by_file(spec)  # within a package in scope: decided by that name

    def _near(self, path: Sequence[str] | None) -> bool:
        """Whether a search goes through the folder of a package in scope: some put their own sub-folders on sys.path."""
        return bool(self.folders) and any(
            isinstance(place, str) and os.path.join(place, "").startswith(tuple(self.folders))
            for place in (sys.path if path is None else path)
        )

    def name_by_file(self, spec: ModuleSpec) -> str:
        """The name that a module's file has within its package; "" outside of all that were loaded in a scope."""
        origin = spec.origin if isinstance(spec.origin, str) else ""
        for folder, package in self.folders.items():
            if origin.startswith(folder):
                parts = os.path.splitext(origin[len(folder) :])[0].split(os.sep)
                return ".".join([package, *(p for p in parts if p != "__init__")])
        return ""

    def _others(self, fullname: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                spec = find(fullname, path, target)
                if spec is not None:
                    return spec
        return None

    def _shadow(
        self, spec: ModuleSpec, table: dict[str, Any] | None, after: Callable[[ModuleType], None] | None
    ) -> None:
        if table is None and after is None:
            return
        loader: Any = spec.loader
        if "name" not in getattr(loader, "__dict__", {}):
            import copy  # seldom, and it takes a tenth of compat's import

            loader = spec.loader = copy.copy(loader)  # shared by many modules (zipimporter)

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            if table is not None:
                importer.refresh()
                vars(module)["__builtins__"] = table
            loader.exec_module(module)
            if after is not None:
                after(module)

        # The frame is the import system's to warnings, which leave those out when they say where a module is imported.
        exec_module.__code__ = exec_module.__code__.replace(co_filename=f"{__file__} (importlib _bootstrap)")
        try:
            vars(loader)["exec_module"] = exec_module
        except TypeError:  # no instance dict: a subclass of its type carries the same state
            raise ImportError(
                f"{spec.name} is in scope, but its loader {type(loader).__name__} takes no attributes; "
                f"use enable_torch_proxy() for the whole process",
                name=spec.name,
            ) from None

    def shadow_native(self, spec: ModuleSpec, covered: bool) -> None:
        """Lets an extension module's imports from C find our torch, and no one else's: its own table of functions is changed.

        The libraries that it links to as libtorch are loaded before it.
        """
        loader: Any = spec.loader

        def create_module(spec: ModuleSpec) -> Any:
            vars(loader).pop("create_module", None)
            with _prepared(spec.name, loader.path, covered):
                folder = next((place for place in self.folders if loader.path.startswith(place)), "")
                if bind(loader.path, folder, sys.getdlopenflags()) > 0:
                    native_importers.add(spec.name)
                return loader.create_module(spec)

        vars(loader)["create_module"] = create_module


def _check_libraries() -> None:
    """ImportError where PyTorch is imported, and the names of its libraries are taken: the linker would give it ours."""
    stand_ins = sys.modules.get("shim_torch._impl.native.stand_ins")
    if stand_ins is not None and stand_ins.loaded():
        raise ImportError(
            "a module out of scope imports PyTorch, whose libraries cannot be loaded any more: compiled libraries in scope use "
            "shim-torch's in this process. Name that module (the last one of this traceback that is not torch) in "
            "enable_torch_proxy()'s scope as well, or import it before",
            name="torch._C",
        )


def _asked_of_ours() -> str | None:
    """``torch.x.y`` where ``from shim_torch.x import y`` triggered the search: where x has no y, the import system tries
    a module of that name, and accepts a ModuleNotFoundError that names it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        if frame.f_code.co_name == "_handle_fromlist":
            return frame.f_locals.get("from_name") if modules.is_presented(frame.f_locals.get("module")) else None
        frame = frame.f_back
    return None


def _prepared(name: str, path: str, covered: bool) -> AbstractContextManager[None]:
    """Context in which an extension module finds the libraries that it links to as libtorch.

    Python's own link to none, and what is imported here may itself be in need of the one that is being imported.
    """
    if (not covered and "torch" not in modules.loaded) or name in sys.stdlib_module_names:
        return nullcontext()
    libraries = sys.modules.get("shim_torch._impl.extensions.load") or importlib.import_module(
        "shim_torch._impl.extensions.load"
    )
    importing = getattr(libraries, "importing", None)  # None: it is being imported itself
    return nullcontext() if importing is None else importing(path)


def find_spec_for(name: str) -> ModuleSpec | None:
    """``importlib.util.find_spec`` of a torch name, for code in scope. Errors: ModuleNotFoundError without its parent."""
    parent = name.rpartition(".")[0]
    if parent and not modules.exists(parent):
        raise ModuleNotFoundError(f"No module named {parent!r}", name=parent)
    return torch_spec(name)
