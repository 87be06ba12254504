"""NumPy and CuPy behind the operator bodies: one lookup by device type.

``numpy_arrays`` and ``cupy_arrays`` have the same functions: ``xp()`` the namespace given to bodies, ``asarray(tensor, dtype)``
an array over the tensor's memory (cast where its dtype differs), ``wrap(array, dtype, keep_strides)`` a tensor over an array.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from types import ModuleType
from typing import Any

from shim_torch._impl.arrays import numpy_arrays
from shim_torch._impl.utils import distributions

counters: Counter[str] = Counter()  # slower ways that were taken, for torch_proxy_status()
_BY_TYPE: dict[str, ModuleType] = {"cpu": numpy_arrays}


def of_type(device_type: str) -> ModuleType:
    """The backend module for ``"cpu"`` or ``"cuda"``; NotImplementedError for others."""
    found = _BY_TYPE.get(device_type)
    if found is None:
        if device_type != "cuda":
            raise NotImplementedError(f"operators do not run on device type {device_type!r}")
        from shim_torch._impl.cuda.cupy_link import link_cupy

        with suppress(Exception):  # before CuPy looks for it: a user's folder may be called cuda, too
            distributions.own("cuda.pathfinder", "cuda-pathfinder")
        try:
            from shim_torch._impl.arrays import cupy_arrays
        except ModuleNotFoundError as error:
            if error.name != "cupy":
                raise
            text = "operators without a CUDA kernel of their own run on CuPy, which is not installed: pip install 'shim-torch[cuda13]'"
            raise ModuleNotFoundError(f"{text} (or [cuda12])", name="cupy") from None
        link_cupy()  # before CuPy allocates: its memory comes from our blocks, its current stream is ours
        found = _BY_TYPE["cuda"] = cupy_arrays
    return found


def namespace(device: Any) -> Any:
    """NumPy or CuPy, for a device or device type."""
    return of_type(device if isinstance(device, str) else device.type).xp()


def cupy_special(name: str) -> Any:
    """A function of ``cupyx.scipy.special`` (erf, erfc, erfinv, digamma; ``lgamma`` is its gammaln)."""
    from cupyx.scipy import special

    return getattr(special, {"lgamma": "gammaln"}.get(name, name))
