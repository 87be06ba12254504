"""``torch.classes``: classes that compiled extensions told of by ``torch::class_``, as ``torch.classes.ns.Name``."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class _ClassNamespace(ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__("torch.classes" + name)
        self.name = name

    def __getattr__(self, attr: str) -> Any:
        """The class. Errors: RuntimeError for one that no library told of."""
        from shim_torch._impl.extensions import cxx_classes

        return cxx_classes.found(self.name, attr)


class _Classes(ModuleType):
    __file__ = "_classes.py"

    def __init__(self) -> None:
        super().__init__("torch.classes")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
        namespace = _ClassNamespace(name)
        setattr(self, name, namespace)
        return namespace

    @property
    def loaded_libraries(self) -> Any:
        """Those that :meth:`load_library` loaded: torch.ops's."""
        from shim_torch import ops

        return ops.loaded_libraries

    def load_library(self, path: Any) -> None:
        """Loads a library, as ``torch.ops.load_library``."""
        from shim_torch import ops

        ops.load_library(path)


classes = _Classes()
