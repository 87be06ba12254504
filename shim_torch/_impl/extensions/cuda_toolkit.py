"""The CUDA version that CuPy (or the driver) has, without touching the GPU at import."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1)
def version() -> str | None:
    """``torch.version.cuda``: "13.0" or "12.x" as the installed CuPy package was built for; None without one or without a GPU.

    Read from distribution metadata, so that asking does not import CuPy.
    """
    from importlib import metadata

    from shim_torch._impl.native import _core

    if not _core.cuda_device_count():
        return None
    for name, major in (("cupy-cuda13x", 13), ("cupy-cuda12x", 12)):
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        return "13.0" if major == 13 else _runtime_version(12)
    return None


def _runtime_version(major: int) -> str:
    number = int(__import__("cupy").cuda.runtime.runtimeGetVersion())
    found, minor = number // 1000, number % 1000 // 10
    return f"{found}.{minor}" if found == major else f"{major}.8"
