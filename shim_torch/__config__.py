"""``torch.__config__``: how this library was built and how many threads it uses."""

from __future__ import annotations

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What the library was built with, as text."""
    from shim_torch.version import __version__

    settings = "USE_CUDA=ON, USE_MKL=OFF, USE_MKLDNN=OFF, USE_MPI=OFF, USE_NCCL=OFF"  # libraries look for these words
    return f"PyTorch built with:\n  - shim-torch {__version__}\n  - Build settings: {settings}, \n"


def _cxx_flags() -> str:
    """The C++ compiler's flags."""
    return "-std=c++20 -O2 -fPIC -fvisibility=hidden -Wall -Wextra"


def parallel_info() -> str:
    """The number of threads and processors, as text."""
    import os

    from shim_torch import get_num_interop_threads, get_num_threads

    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
        f"std::thread::hardware_concurrency() : {os.cpu_count()}\n"
    )
