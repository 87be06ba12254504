"""``torch.classes``: classes of compiled libraries for TorchScript. There are none: they belong to PyTorch's C++ ABI."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn


class _Classes(ModuleType):
    __file__ = "_classes.py"

    def __init__(self) -> None:
        super().__init__("torch.classes")
        self.loaded_libraries: set[str] = set()

    def load_library(self, path: Any) -> NoReturn:
        """NotImplementedError that says what to use."""
        raise NotImplementedError(
            f"torch.classes.load_library({str(path)!r}): classes of TorchScript use PyTorch's C++ ABI, which shim-torch does "
            "not have. Operators of the stable C ABI are loaded with torch.ops.load_library; see `python -m compat scan`"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
        raise NotImplementedError(f"torch.classes.{name}: classes of TorchScript are not supported by shim-torch")


classes = _Classes()
