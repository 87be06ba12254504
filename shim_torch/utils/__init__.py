"""``torch.utils``; its sub-modules are imported when first asked for."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = frozenset(
    """_pytree _device _python_dispatch _triton backcompat benchmark bundled_inputs checkpoint collect_env cpp_extension data
    deterministic dlpack hooks model_zoo tensorboard throughput_benchmark weak""".split()
)


def set_module(obj: Any, mod: str) -> None:
    """Sets an object's ``__module__``."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return importlib.import_module(f"shim_torch.utils.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"shim_torch.utils.{name}":
                raise
    from shim_torch._missing import missing

    return missing("torch.utils", name)
