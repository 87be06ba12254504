"""The libraries that wheels link to as PyTorch's: here they hand on to ``shim_torch._impl.native._core``, which has the functions."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

SONAMES = ("libtorch_cpu.so", "libtorch.so", "libtorch_cuda.so", "libtorch_python.so", "libc10.so", "libc10_cuda.so")
_loaded: list[ctypes.CDLL] = []
_streams = ctypes.create_string_buffer(16)  # the std::ios_base::Init that is never destroyed


def folder() -> Path:
    """Where the stand-in libraries are. They are on no search path: they serve this process once :func:`load` ran."""
    return Path(__file__).parent / "lib"


def real_libtorch() -> str | None:
    """The path of a libtorch of PyTorch's own in this process, if there is one."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[-1].strip() for line in maps if "/lib" in line}
    except OSError:
        return None
    ours = os.path.realpath(folder())
    for path in sorted(paths):
        if os.path.basename(path) in SONAMES and os.path.dirname(os.path.realpath(path)) != ours:
            return path
    return None


def loaded() -> bool:
    """Whether :func:`load` ran in this process."""
    return bool(_loaded)


def load() -> None:
    """Makes the stand-ins answer for libtorch in this process; does nothing the second time.

    They are loaded privately (RTLD_LOCAL): only libraries that name one of them see them.
    Errors: RuntimeError when PyTorch's own libtorch is loaded; OSError when a stand-in is missing.
    """
    if _loaded:
        return
    real = real_libtorch()
    if real is not None:
        raise RuntimeError(
            f"PyTorch's own library {real} is loaded in this process: compiled operators would bind to it and its "
            "tensors, not to shim-torch's. Use the one or the other in a process."
        )
    _construct_standard_streams()
    _loaded.extend([ctypes.CDLL(str(folder() / name), ctypes.RTLD_LOCAL) for name in SONAMES])


def _construct_standard_streams() -> None:
    """Wheels report some failures on ``std::cerr`` and trust libtorch to have constructed it.

    Called in the process's own libstdc++ and not compiled into ``_core``: a program that brings the streams' code along
    by itself would give them to every library in the process, half made.
    """
    try:
        construct = ctypes.CDLL("libstdc++.so.6")["_ZNSt8ios_base4InitC1Ev"]
    except (OSError, AttributeError):
        return  # another C++ runtime, which does this by itself
    construct.restype, construct.argtypes = None, [ctypes.c_void_p]
    construct(ctypes.addressof(_streams))
