"""Finds modules of ``shim_torch`` with PyTorch's names: files by the other finders, others as rows of ``shells``.

After execution, public names of a module get PyTorch's ``__module__`` (``naming.present``), and ``missing`` becomes its
``__getattr__``; so no file has to do either.
"""

from __future__ import annotations

import sys
from _thread import _local  # threading.local: threading takes longer to import than all that is used of it
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_INSIDE = "shim_torch."
_OURS = "shim_torch._impl"
# Pickles name what these hold, also where no scope makes ``torch`` ours: it keeps the name under which it is always found.
# ``nn.modules`` gives its layers the names of PyTorch's files, which are others than ours.
_NOT_PRESENTED = (
    "shim_torch.fx.graph_module",
    "shim_torch.fx.immutable_collections",
    "shim_torch.multiprocessing",
    "shim_torch.nn.modules.",
    "shim_torch.utils.data._utils",
)
when_finished: list[Callable[[ModuleType], None]] = []  # called with each module
_looking = _local()  # .name: a finder further on may ask all finders again


class SurfaceFinder:
    """A meta path finder for modules of ``shim_torch`` that have PyTorch's names."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the surface, with a loader that finishes it; None for others."""
        if (
            not fullname.startswith(_INSIDE)
            or fullname.startswith(_OURS)
            or getattr(_looking, "name", None) == fullname
        ):
            return None
        before, _looking.name = getattr(_looking, "name", None), fullname
        try:
            spec = _found_by_others(fullname, path, target)
        finally:
            _looking.name = before
        if spec is None or spec.origin is None:  # no file, or a folder without one
            from shim_torch._impl.surface import shells

            spec = shells.spec_of(fullname) or spec
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = FinishingLoader(spec.loader)  # type: ignore[assignment]
        return spec


def _found_by_others(fullname: str, path: Any, target: Any) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        if finder is not SurfaceFinder and hasattr(finder, "find_spec"):
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
    return None


class FinishingLoader:
    """Executes a module with its own loader, restores that in module and spec, and finishes the module."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.name = getattr(loader, "name", None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(vars(self)["loader"], name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """What the file's own loader makes."""
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Executes the module, then gives its names PyTorch's module and its missing names an answer."""
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        finish(module)


def finish(module: ModuleType) -> None:
    """Presents what the module defines; its ``__getattr__`` is ``missing`` where it has none."""
    from shim_torch._impl.surface import missing, naming

    namespace = vars(module)
    if not module.__name__.startswith(_NOT_PRESENTED):
        naming.present(namespace)
    if "__getattr__" not in namespace and not hasattr(type(module), "__getattr__"):
        namespace["__getattr__"] = missing.module_getattr(module.__name__)
    for call in list(when_finished):
        call(module)


def install() -> None:
    """Once, before the first of these modules is imported."""
    if SurfaceFinder not in sys.meta_path:
        sys.meta_path.insert(0, SurfaceFinder)
