"""The compilers' command lines: folders of headers, flags that PyTorch gives, libraries to link to."""

from __future__ import annotations

import os
import shlex
import subprocess
from functools import lru_cache
from typing import Any

from shim_torch._impl.extensions import cuda_libraries
from shim_torch._impl.native import stand_ins

LIBRARIES = ("c10", "torch", "torch_cpu")


# std::thread::join and OpenMP's parallel regions: what waits for threads that may call operators lets go of the GIL.
WAITS = tuple(f"-Wl,--wrap={name}" for name in ("_ZNSt6thread4joinEv", "GOMP_parallel"))


def linked(libraries: Any) -> list[str]:
    """The linker's arguments: the stand-ins define nothing, but name what is to be loaded first."""
    named = [f"-l{library}" for library in libraries]
    return [*WAITS, "-Wl,--no-as-needed", f"-L{stand_ins.folder()}", *named, *_openmp(os.environ.get("CXX", "c++"))]


@lru_cache(maxsize=4)
def _openmp(compiler: str) -> list[str]:
    """GCC's OpenMP, where a source uses it: PyTorch's libraries bring it along, so that sources link without naming it."""
    try:
        asked = [*shlex.split(compiler), "-print-file-name=libgomp.so"]
        found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    except OSError:  # it is refused where it is used
        return []
    return ["-Wl,--push-state,--as-needed", "-lgomp", "-Wl,--pop-state"] if os.path.isabs(found) else []


def flags_of(flags: list[str], name: str) -> list[str]:
    """The given flags and what every source is compiled with: its extension's name, C++20 unless they say otherwise."""
    standard = [] if any(f.startswith(("-std=", "--std=")) for f in flags) else ["-std=c++20"]
    return [*flags, "-DTORCH_API_INCLUDE_EXTENSION_H", f"-DTORCH_EXTENSION_NAME={name}", *standard]


def nvcc_path() -> list[str]:
    """$PYTORCH_NVCC, or the toolkit's nvcc. Errors: OSError without a CUDA toolkit."""
    from shim_torch.utils import cpp_extension

    own = os.environ.get("PYTORCH_NVCC")
    return shlex.split(own) if own else [cpp_extension._join_cuda_home("bin", "nvcc")]


def nvcc(flags: list[str], name: str) -> list[str]:
    """nvcc with what PyTorch gives it; $CC is its host compiler. Errors: OSError without a CUDA toolkit."""
    from shim_torch.utils import cpp_extension

    archs = cpp_extension._get_cuda_arch_flags(flags)
    host = os.environ.get("CC")
    chosen = (
        [] if host is None or any(f.startswith(("-ccbin", "--compiler-bindir")) for f in flags) else ["-ccbin", host]
    )
    given = flags_of(flags, name)
    return [*nvcc_path(), *cpp_extension.COMMON_NVCC_FLAGS, "--compiler-options", "-fPIC", *archs, *chosen, *given]


def cuda_link_flags() -> list[str]:
    """The CUDA runtime, of the toolkit or of its wheel."""
    from shim_torch.utils import cpp_extension

    return [*(f"-L{folder}" for folder in cpp_extension.library_paths("cuda", torch_include_dirs=False)), "-lcudart"]


def cuda_include_folders(home: str) -> list[str]:
    """The toolkit's headers, and those of NVIDIA's wheels for libraries that the toolkit here has none of (cuBLAS)."""
    own = os.path.join(home, "include")
    there = [own] if home != "/usr" else []
    if os.path.exists(os.path.join(own, "cublas_v2.h")) and os.path.exists(os.path.join(own, "cusparse.h")):
        return there
    return [*there, *cuda_libraries.header_folders()]


def dlink_step(flags: list[str], objects: list[str], target: str) -> list[str]:
    """nvcc's command that links device code (-rdc=true) of several objects. Errors: OSError without a CUDA toolkit."""
    from shim_torch.utils import cpp_extension

    archs = cpp_extension._get_cuda_arch_flags(flags)
    link = [] if any(f in ("-dlink", "--device-link") for f in flags) else ["-dlink"]
    return [*nvcc_path(), *objects, "-o", target, "--compiler-options", "-fPIC", *archs, *link, *flags]
