"""``torch.classes``: classes of compiled libraries for TorchScript. There are none: they belong to PyTorch's C++ ABI."""

from __future__ import annotations

from typing import Any

loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """NotImplementedError that says what to use."""
    raise NotImplementedError(
        f"torch.classes.load_library({str(path)!r}): classes of TorchScript use PyTorch's C++ ABI, which shim-torch does "
        "not have. Operators of the stable C ABI are loaded with torch.ops.load_library; see `python -m compat scan`"
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    raise NotImplementedError(f"torch.classes.{name}: classes of TorchScript are not supported by shim-torch")
