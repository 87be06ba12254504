"""``torch.backends``: the settings of ``cuda``, ``cudnn``, ``mps`` and their like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from shim_torch._impl.backends import precision as _precision

from . import cuda as cuda

_SETTINGS = frozenset(
    "cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum python_native quantized xnnpack".split()
)


_frozen = False


def disable_global_flags() -> None:
    """From now on settings may change within ``flags(...)`` blocks only, as ``flags_frozen`` then says."""
    global _frozen
    _frozen = True


def flags_frozen() -> bool:
    """Whether ``disable_global_flags`` was called."""
    return _frozen


class _Backends(ModuleType):
    """This module with its one setting: what float32 is computed in where no backend says."""

    @property
    def fp32_precision(self) -> str:
        return _precision.read("generic", "all")

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if _frozen:
            raise RuntimeError(
                "not allowed to set torch.backends flags after disable_global_flags; please use flags() context manager instead"
            )
        _precision.write("generic", "all", precision)


def set_flags(_fp32_precision: str = "none") -> tuple[str]:
    """Sets ``fp32_precision``; the old one."""
    old = (_precision.read("generic", "all"),)
    _precision.write("generic", "all", _fp32_precision)
    return old


@contextmanager
def flags(fp32_precision: str = "none") -> Iterator[None]:
    """``fp32_precision`` within a ``with`` block."""
    old = set_flags(fp32_precision)
    try:
        yield
    finally:
        set_flags(*old)


import_module(__name__).__class__ = _Backends


def __getattr__(name: str) -> Any:
    if name in _SETTINGS:
        return import_module(f"shim_torch.backends.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.backends", name)
