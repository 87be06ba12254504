"""Where the libraries of the CUDA toolkit are: the candidates that the native core tries to load, best first."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path

from shim_torch._impl.utils import distributions

_WHEELS = (
    "nvidia/cu13/lib",
    "nvidia/cublas/lib",
    "nvidia/cuda_nvrtc/lib",
    "nvidia/cudnn/lib",
    "nvidia/cufft/lib",
    "nvidia/nccl/lib",
)


def candidates(name: str) -> list[str]:
    """Absolute paths of ``lib<name>.so.*`` ("cublasLt", "nvrtc", "cudnn", "cufft", "nccl").

    Order: ``SHIM_<NAME>_PATH``, what cuda-pathfinder finds, NVIDIA's wheels on ``sys.path``, conda, ``CUDA_PATH``.
    """
    own = os.environ.get(f"SHIM_{name.upper()}_PATH")
    found = [own] if own else []
    found += _pathfinder(name)
    for folder in _folders():
        found += sorted(
            (
                p
                for p in glob(f"{folder}/lib{name}.so.*")
                if _major(p) or p.endswith(("libcudnn.so.9", "libcufft.so.11", "libnccl.so.2"))
            ),
            key=_major,
            reverse=True,
        )
    unique = dict.fromkeys(found)
    return list(unique)


def _pathfinder(name: str) -> list[str]:
    try:
        pathfinder = distributions.own("cuda.pathfinder", "cuda-pathfinder")
        path = pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except Exception:  # not installed, or no such library: its own exception types differ between versions
        return []
    return [path] if path else []


def _folders() -> list[str]:
    import sys

    folders = [str(Path(entry or ".") / wheel) for entry in sys.path for wheel in _WHEELS]
    for variable, places in (
        ("CONDA_PREFIX", ("lib",)),
        ("CUDA_PATH", ("lib64", "lib")),
        ("CUDA_HOME", ("lib64", "lib")),
    ):
        root = os.environ.get(variable)
        folders += [str(Path(root) / place) for place in places] if root else []
    folders += ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"]
    return folders


def _major(path: str) -> int:
    """12 or 13 for a soname with only a major version, else 0."""
    last = path.rpartition(".so.")[2]
    return int(last) if last in ("12", "13") else 0


def header_folders() -> list[str]:
    """The folders of headers in NVIDIA's wheels on ``sys.path``: nvidia/cu13/include, or one a library."""
    import sys

    roots = [Path(entry or ".") / "nvidia" for entry in sys.path]
    return [f for root in roots for f in sorted(glob(f"{root}/cu13/include") or glob(f"{root}/*/include"))]
