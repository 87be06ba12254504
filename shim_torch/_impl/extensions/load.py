"""Loading of compiled libraries that use PyTorch's stable C ABI: what has to be there before, and what went wrong."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from typing import Any

from shim_torch._impl.extensions import elf, refused
from shim_torch._impl.extensions.slow_work import slow_work
from shim_torch._impl.native import _core, stand_ins
from shim_torch._impl.utils import distributions

# The pip package that brings a CUDA library; {} is the suffix of its CUDA 12 name.
_PACKAGES = {
    "cudart": "nvidia-cuda-runtime{}",
    "nvrtc": "nvidia-cuda-nvrtc{}",
    "nvrtc-builtins": "nvidia-cuda-nvrtc{}",
    "cublas": "nvidia-cublas{}",
    "cublasLt": "nvidia-cublas{}",
    "cufft": "nvidia-cufft{}",
    "curand": "nvidia-curand{}",
    "cusolver": "nvidia-cusolver{}",
    "cusparse": "nvidia-cusparse{}",
    "nvjpeg": "nvidia-nvjpeg{}",
    "nvJitLink": "nvidia-nvjitlink{}",
    "cupti": "nvidia-cuda-cupti{}",
    "cufile": "nvidia-cufile{}",
    "cudnn": "nvidia-cudnn-cu13",
    "nccl": "nvidia-nccl-cu13",
    "nvshmem_host": "nvidia-nvshmem-cu13",
    "cusparseLt": "nvidia-cusparselt-cu13",
}
_kept: dict[str, ctypes.CDLL] = {}


def _cuda_library(soname: str) -> tuple[str, str] | None:
    """(name, major version) of a CUDA library: ``libcudart.so.13`` -> ("cudart", "13"); None for any other."""
    match = re.fullmatch(r"lib([A-Za-z_\-]+)\.so\.(\d+)[\d.]*", soname)
    return (match[1], match[2]) if match and match[1] in _PACKAGES else None


def package_of(soname: str) -> str | None:
    """The pip package that brings a CUDA library, or None when it is none."""
    found = _cuda_library(soname)
    return _PACKAGES[found[0]].format("-cu12" if found[1] in ("11", "12") else "") if found else None


def _find(soname: str) -> str | None:
    """The file of a CUDA library among the installed nvidia packages."""
    try:
        import nvidia  # type: ignore[import-not-found,unused-ignore]

        roots = list(nvidia.__path__)
    except ImportError:
        roots = [os.path.join(p, "nvidia") for p in sys.path]
    for root in roots:
        for path in glob(os.path.join(root, "*", "lib", soname)):
            return path
    found = _cuda_library(soname)
    try:
        pathfinder = distributions.own("cuda.pathfinder", "cuda-pathfinder")
        path = pathfinder.load_nvidia_dynamic_lib(found[0] if found else soname).abs_path
        return path if path and os.path.basename(path).startswith(soname) else None
    except Exception:  # its own errors for "not found", "unknown name"
        return None


def _open(soname: str) -> bool:
    """Opens a library by name or, for CUDA's, from its package; it then serves all that need it."""
    if soname in _kept:
        return True
    for name in (soname, _find(soname)):
        try:
            if name is not None:
                _kept[soname] = ctypes.CDLL(name, ctypes.RTLD_LOCAL)
                return True
        except OSError:
            continue
    return False


def read(path: str, symbols: bool = True) -> elf.SharedObject | None:
    """The tables of a shared object; None when the file cannot be read (the loader will say why)."""
    try:
        return elf.read(path, symbols)
    except (OSError, ValueError):
        return None


def prepare(path: str) -> list[str]:
    """Loads what a library needs and the system would not find: our stand-ins, CUDA libraries of pip packages.

    Neighbours that it needs are looked into as well. Returns what is missing, a line each.
    Errors: OSError for a file that is no shared object or is truncated; RuntimeError beside PyTorch's own libtorch.
    """
    missing: list[str] = []
    if os.path.exists(path):
        try:
            elf.read(path, symbols=False)
        except ValueError as error:
            raise OSError(f"{path}: {error}") from None
    seen: set[str] = set()
    todo = [os.path.abspath(path)]
    while todo:
        here = todo.pop()
        tables = read(here, symbols=False) if here not in seen else None
        if tables is None:
            continue
        seen.add(here)
        ours = any(name in stand_ins.SONAMES for name in tables.needed)
        if ours:
            stand_ins.load()
        for name in tables.needed:
            neighbour = os.path.join(os.path.dirname(here), name)
            if os.path.exists(neighbour):
                todo.append(neighbour)
            elif _cuda_library(name) and not _open(name):
                missing.append(f"{name}: pip install {package_of(name)}")
        if ours and not any(name.startswith("libcublas") for name in tables.needed):
            _open_blas(here, tables.needed)
    return missing


def _open_blas(path: str, needed: list[str]) -> None:
    """Some wheels call cuBLAS without naming it: PyTorch's libtorch_cuda.so brings it along."""
    tables = read(path)
    if tables is None or not any(name.startswith("cublas") for name in tables.undefined):
        return
    majors = [found[1] for found in map(_cuda_library, needed) if found]
    for name in ("libcublasLt", "libcublas"):
        soname = f"{name}.so.{majors[0] if majors else '13'}"
        path = _find(soname) or soname
        try:
            _kept[soname] = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        except OSError:
            continue


def diagnose(path: str, error: BaseException, missing: list[str]) -> str:
    """Why a library could not be loaded, as far as its own tables tell."""
    text = str(error)
    if missing:
        text += "\nmissing CUDA libraries: " + "; ".join(sorted(set(missing)))
    built = re.search(r"undefined symbol: shim_cxx_built_with_(\w+)", text)
    if built:
        text += (
            f"\n{os.path.basename(path)} was built with shim-torch {built[1].replace('_', '.')}, and this is {_core.cxx_version}: "
            "it has to be built again"
        )
    if "libcuda.so" in text:
        text += "\nlibcuda.so.1 comes with the NVIDIA driver: this library needs a machine with a GPU"
    try:
        tables = elf.read(path)
    except (OSError, ValueError) as problem:
        return text if isinstance(problem, OSError) else f"{text}\n{path}: {problem}"
    kind, names = classify(tables)
    if kind == "C++ ABI":
        text += (
            f"\n{os.path.basename(path)} was built against PyTorch's C++ ABI ({len(names)} symbols, such as {names[0]}): it "
            "cannot be loaded without PyTorch. It needs a build from source, or one that uses the stable ABI."
        )
    elif kind == "stable ABI":
        absent = absent_functions(tables)
        if absent:
            text += "\nfunctions of the stable ABI that shim-torch does not have: " + ", ".join(absent)
    return text


# Functions, vtables and type information of at::, c10:: and torch::, but not of torch::stable and the like, which are
# headers alone.
_CPP = re.compile(r"^_Z(?:TV|TI|TS|GV)?NK?(?:2at|3c10|5torch(?!6stable|10headeronly|4aoti))\d")


def classify(tables: elf.SharedObject) -> tuple[str, list[str]]:
    """("C++ ABI", its symbols), ("stable ABI", its functions) or ("none", [])."""
    cpp = sorted(name for name in tables.undefined if _CPP.match(name))
    if cpp:
        return "C++ ABI", cpp
    stable = sorted(name for name in tables.undefined if name.startswith(("aoti_torch_", "torch_")))
    if stable:
        return "stable ABI", stable
    return ("stable ABI", []) if any(n in stand_ins.SONAMES for n in tables.needed) else ("none", [])


def _note_refused(path: str) -> None:
    tables = read(path)
    if tables is not None and classify(tables)[0] == "C++ ABI":
        refused.refuse(path)


def exported() -> set[str]:
    """The functions of the stable ABI that ``shim_torch._impl.native._core`` exports."""
    tables = read(_core.__file__)
    return {n for n in tables.defined if n.startswith(("aoti_torch_", "torch_"))} if tables else set()


def absent_functions(tables: elf.SharedObject) -> list[str]:
    """The functions of the stable ABI that a library uses and that do not exist here."""
    return sorted(set(classify(tables)[1]) - exported()) if classify(tables)[0] == "stable ABI" else []


def report_problems(path: str) -> None:
    """Warns about operators that a library could not register."""
    for problem in _core.library_problems():
        warnings.warn(f"{os.path.basename(path)}: {problem}", stacklevel=4)


def set_stream(stream: int, device: int) -> None:
    """Makes a cudaStream_t the current stream of its device, for compiled kernels."""
    from shim_torch._impl.cuda import streams

    streams.set_stream(streams.Stream(stream_ptr=stream, device_index=device))


def pool_stream(high_priority: bool, device: int) -> int:
    """A new stream of a device (negative: the current one), as a number."""
    from shim_torch._impl.cuda.streams import Stream

    return int(Stream(device=None if device < 0 else device, priority=-1 if high_priority else 0).cuda_stream)


@contextmanager
def importing(path: str) -> Iterator[None]:
    """Around the import of an extension module that may link to libtorch: prepares it, and says what was wrong.

    Errors: ImportError, also beside PyTorch's own libtorch.
    """
    try:
        missing = prepare(path)
    except (RuntimeError, OSError) as error:
        raise ImportError(str(error), path=path) from None
    try:
        with slow_work(f"loading {os.path.basename(path)}"):
            yield
    except ImportError as error:
        _note_refused(path)
        text = diagnose(path, error, missing)
        if text == str(error):
            raise
        raise ImportError(text, name=error.name, path=path) from None
    report_problems(path)


def load(path: Any) -> None:
    """``torch.ops.load_library``. Errors: OSError that says what is missing; RuntimeError beside PyTorch's libtorch."""
    name = os.path.realpath(path) if os.path.exists(path) else os.fspath(path)
    missing = prepare(name)
    try:
        with slow_work(f"loading {os.path.basename(name)}"):
            _kept[name] = ctypes.CDLL(name)
    except OSError as error:
        _note_refused(name)
        raise OSError(diagnose(name, error, missing)) from None
    report_problems(name)
