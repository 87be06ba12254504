"""The CUDA version that CuPy (or the toolkit) has, without touching the GPU at import."""

from __future__ import annotations

import os
import re
from functools import lru_cache


@lru_cache(maxsize=1)
def version() -> str | None:
    """``torch.version.cuda``: "13.0" or "12.x" as the installed CuPy package was built for.

    Without a GPU it is that of the toolkit, where there is one with nvcc: extensions are built on such machines, and their
    setup.py compare the two versions. None without either. Read from distribution metadata, so that asking does not import CuPy.
    """
    from shim_torch._impl.native import _core

    return _of_cupy() if _core.cuda_device_count() else toolkit_version()


def _of_cupy() -> str | None:
    from importlib import metadata

    for name, major in (("cupy-cuda13x", 13), ("cupy-cuda12x", 12)):
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        return "13.0" if major == 13 else _runtime_version(12)
    return None


def toolkit_version() -> str | None:
    """ "13.0" as the headers beside nvcc say; None without nvcc or without its headers."""
    from shim_torch.utils.cpp_extension import CUDA_HOME

    if CUDA_HOME is None or not os.path.exists(os.path.join(CUDA_HOME, "bin", "nvcc")):
        return None
    try:
        with open(os.path.join(CUDA_HOME, "include", "cuda.h"), encoding="utf-8", errors="replace") as file:
            found = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", file.read())
    except OSError:
        return None
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def _runtime_version(major: int) -> str:
    number = int(__import__("cupy").cuda.runtime.runtimeGetVersion())
    found, minor = number // 1000, number % 1000 // 10
    return f"{found}.{minor}" if found == major else f"{major}.8"
