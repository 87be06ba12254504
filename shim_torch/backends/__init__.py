"""``torch.backends``, and the array libraries behind the operator bodies: one lookup by device type.

The modules ``cuda``, ``cudnn``, ``mps`` ... are PyTorch's settings. ``numpy`` and ``cupy`` are ours:
each backend module has the same functions: ``xp()`` the namespace given to bodies, ``asarray(tensor, dtype)`` an array
over the tensor's memory (cast where its dtype differs), ``wrap(array, dtype, keep_strides)`` a tensor over an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from . import _precision as _precision
from . import cuda as cuda
from . import numpy as numpy_backend

counters: Counter[str] = Counter()  # slower ways that were taken, for torch_proxy_status()
_BY_TYPE: dict[str, ModuleType] = {"cpu": numpy_backend}


def of_type(device_type: str) -> ModuleType:
    """The backend module for ``"cpu"`` or ``"cuda"``; NotImplementedError for others."""
    found = _BY_TYPE.get(device_type)
    if found is None:
        if device_type != "cuda":
            raise NotImplementedError(f"operators do not run on device type {device_type!r}")
        from shim_torch.cuda._streams import link_cupy

        try:
            from . import cupy
        except ModuleNotFoundError as error:
            if error.name != "cupy":
                raise
            text = "operators without a CUDA kernel of their own run on CuPy, which is not installed: pip install 'shim-torch[cuda13]'"
            raise ModuleNotFoundError(f"{text} (or [cuda12])", name="cupy") from None
        link_cupy()  # before CuPy allocates: its memory comes from our blocks, its current stream is ours
        found = _BY_TYPE["cuda"] = cupy
    return found


def namespace(device: Any) -> Any:
    """NumPy or CuPy, for a device or device type."""
    return of_type(device if isinstance(device, str) else device.type).xp()


def cupy_special(name: str) -> Any:
    """A function of ``cupyx.scipy.special`` (erf, erfc, erfinv, digamma; ``lgamma`` is its gammaln)."""
    from cupyx.scipy import special

    return getattr(special, {"lgamma": "gammaln"}.get(name, name))


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
    from shim_torch._missing import missing

    return missing("torch.backends", name)
