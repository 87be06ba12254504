"""``torch.utils.cpp_extension``: builds C++ and CUDA extensions, with our C++ headers or PyTorch's stable C ABI."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shim_torch._impl.surface.missing import module_getattr as _module_getattr

__all__ = [
    "BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension", "check_compiler_is_gcc",
    "check_compiler_ok_for_platform", "get_compiler_abi_compatibility_and_version", "get_cxx_compiler",
    "get_default_build_root", "include_paths", "is_ninja_available", "library_paths", "load", "load_inline",
    "verify_ninja_availability",
]  # fmt: skip
IS_WINDOWS, IS_MACOS, IS_LINUX = sys.platform == "win32", sys.platform == "darwin", sys.platform.startswith("linux")
LIB_EXT = ".pyd" if IS_WINDOWS else ".so"
EXEC_EXT = ".exe" if IS_WINDOWS else ""
CLIB_PREFIX = "" if IS_WINDOWS else "lib"
CLIB_EXT = ".dll" if IS_WINDOWS else ".so"
SHARED_FLAG = "/DLL" if IS_WINDOWS else "-shared"
SUBPROCESS_DECODE_ARGS = ("oem",) if IS_WINDOWS else ()
MINIMUM_GCC_VERSION, MINIMUM_MSVC_VERSION, MINIMUM_CLANG_VERSION = (5, 0, 0), (19, 0, 24215), (3, 3, 0)
ROCM_HOME = HIP_HOME = SYCL_HOME = ROCM_VERSION = None
IS_HIP_EXTENSION = False
CUDNN_HOME = os.environ.get("CUDNN_HOME") or os.environ.get("CUDNN_PATH")
COMMON_NVCC_FLAGS = [
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
]
COMMON_HIP_FLAGS = ["-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM=1", "-DHIPBLAS_V2"]
COMMON_HIPCC_FLAGS = ["-DCUDA_HAS_FP16=1", "-D__HIP_NO_HALF_OPERATORS__=1", "-D__HIP_NO_HALF_CONVERSIONS__=1"]
COMMON_MSVC_FLAGS = ["/MD", "/wd4819", "/wd4251", "/wd4244", "/wd4267", "/wd4275", "/wd4018", "/wd4190", "/EHsc"]
JIT_EXTENSION_VERSIONER = None
_TORCH_PATH = str(Path(__file__).resolve().parent.parent)
TORCH_LIB_PATH = os.path.join(_TORCH_PATH, "lib")
if TYPE_CHECKING:
    BuildExtension: Any = None


def _find_cuda_home() -> str | None:
    """The CUDA toolkit: $CUDA_HOME, $CUDA_PATH, beside nvcc, or /usr/local/cuda; None without one."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home:
        return home
    nvcc = shutil.which("nvcc")
    beside = None if nvcc is None else str(Path(nvcc).resolve().parent.parent)
    if beside is not None and os.path.exists(os.path.join(beside, "include", "cuda_runtime.h")):
        return beside
    return (
        "/usr/local/cuda" if os.path.exists("/usr/local/cuda") else beside
    )  # nvcc on the path may be a script that calls it


def _find_rocm_home() -> None:
    return None


CUDA_HOME = _find_cuda_home()


def _join_cuda_home(*paths: str) -> str:
    if CUDA_HOME is None:
        raise OSError("CUDA_HOME environment variable is not set. Please set it to your CUDA install root.")
    return os.path.join(CUDA_HOME, *paths)


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders with the headers that extensions are compiled against: ours under PyTorch's names, pybind11's, and CUDA's."""
    from shim_torch._impl.extensions import headers, toolchain

    cuda = toolchain.cuda_include_folders(CUDA_HOME) if device_type == "cuda" and CUDA_HOME is not None else []
    return [*(headers.folders() if torch_include_dirs else ()), *cuda]


def library_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: Any = None
) -> list[str]:
    """The folders with the libraries extensions are linked to."""
    from shim_torch._impl.native import stand_ins

    found = [str(stand_ins.folder())] if torch_include_dirs else []
    if device_type == "cuda" and CUDA_HOME is not None:
        found.append(
            next(
                (p for p in (_join_cuda_home("lib64"), _join_cuda_home("lib")) if os.path.exists(p)),
                _join_cuda_home("lib64"),
            )
        )
    return found


def get_cxx_compiler() -> str:
    """$CXX, or the platform's compiler."""
    return os.environ.get("CXX", "cl" if IS_WINDOWS else "c++")


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether the compiler is there."""
    return shutil.which(compiler) is not None


def check_compiler_is_gcc(compiler: str) -> bool:
    """Whether the compiler says it is GCC."""
    import subprocess

    try:
        text = subprocess.check_output([compiler, "-v"], stderr=subprocess.STDOUT).decode(*SUBPROCESS_DECODE_ARGS)
    except (OSError, subprocess.CalledProcessError):
        return False
    return "gcc version" in text or "g++ version" in text


def _gcc_version(compiler: str) -> str | None:
    """What GCC says that its version is, None of another compiler."""
    import subprocess

    if not check_compiler_is_gcc(compiler):
        return None
    said = subprocess.check_output([compiler, "-dumpfullversion", "-dumpversion"])
    return said.decode(*SUBPROCESS_DECODE_ARGS).strip()


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, Any]:
    """(whether the compiler can be used, its version); 0.0.0 of what is missing or not GCC."""
    from shim_torch._impl.surface.torch_version import TorchVersion

    there = check_compiler_ok_for_platform(compiler)
    version = _gcc_version(compiler) if there else None
    old = version is not None and tuple(map(int, version.split("."))) < MINIMUM_GCC_VERSION
    return there and not old, TorchVersion(version or "0.0.0")


def is_ninja_available() -> bool:
    """Whether ``ninja`` can be run."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """RuntimeError where ninja is missing."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root() -> str:
    """The folder extensions are built in: torch_extensions in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.realpath(os.path.join(base, "torch_extensions"))


def _get_build_directory(name: str, verbose: bool) -> str:
    """The folder an extension of that name is built in, made if need be; $TORCH_EXTENSIONS_DIR is above it.

    Errors: RuntimeError for a folder that is another user's.
    """
    from shim_torch._impl.extensions.build import private_folder
    from shim_torch.version import cuda

    python = f"py{sys.version_info.major}{sys.version_info.minor}" + getattr(sys, "abiflags", "")
    device = "cpu" if cuda is None else "cu" + cuda.replace(".", "")
    root = os.environ.get("TORCH_EXTENSIONS_DIR", os.path.join(get_default_build_root(), f"{python}_{device}"))
    if verbose:
        print(f"Using {root} as PyTorch extensions root...", file=sys.stderr)
    if not (
        os.path.isdir(root) and os.stat(root).st_mode & stat.S_ISVTX
    ):  # where everybody has folders of their own: /tmp
        private_folder(root)
    return private_folder(os.path.join(root, name))


def _architectures() -> list[str]:
    """$TORCH_CUDA_ARCH_LIST (``8.0;9.0+PTX``, or with spaces), or those of the GPUs that are here."""
    from shim_torch import cuda

    listed = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    here = (cuda.get_device_capability(i) for i in range(0 if listed else cuda.device_count()))
    return listed or ["{}.{}".format(*capability) for capability in here]


def _get_cuda_arch_flags(cflags: Any = None) -> list[str]:
    """nvcc's flags for the architectures asked for, each once and in order; none where ``cflags`` choose some."""
    if any("arch" in flag or flag == "-gencode" for flag in cflags or ()):
        return []
    flags: set[str] = set()
    for name in _architectures():
        number = name.removesuffix("+PTX").replace(".", "")
        kinds = ("sm", "compute") if name.endswith("+PTX") else ("sm",)
        flags.update(f"-gencode=arch=compute_{number},code={kind}_{number}" for kind in kinds)
    return sorted(flags)


def _refuse(name: str) -> None:
    raise NotImplementedError(
        f"torch.utils.cpp_extension.{name} is not supported by shim-torch: it has no LibTorch C++ API to compile against. Extensions "
        "that use PyTorch's stable C ABI load as built wheels, and compile from C++ that declares its functions; kernels can be written in Triton, or with cupy.RawKernel."
    )


def load(
    name: str, sources: Any, extra_cflags: Any = None, extra_cuda_cflags: Any = None, extra_sycl_cflags: Any = None,
    extra_ldflags: Any = None, extra_include_paths: Any = None, build_directory: str | None = None, verbose: bool = False,
    with_cuda: bool | None = None, with_sycl: bool | None = None, is_python_module: bool = True,
    is_standalone: bool = False, keep_intermediates: bool = True,
) -> Any:  # fmt: skip
    """Compiles C++ and CUDA sources and loads them, where they need no header of PyTorch's that is not in extra_include_paths.

    CUDA sources (``.cu``) are compiled by nvcc for $TORCH_CUDA_ARCH_LIST or the GPUs that are here, with extra_cuda_cflags.
    Errors: NotImplementedError for sources with other headers, for SYCL and for none; RuntimeError from a compiler;
    OSError for CUDA sources without a CUDA toolkit.
    """
    from shim_torch._impl.extensions import jit

    if not sources or with_sycl:
        _refuse("load")
    return jit.compile_and_load(
        "load", name, sources, build_directory or _get_build_directory(name, verbose), extra_cflags, extra_ldflags,
        extra_include_paths, verbose, is_python_module, is_standalone, extra_cuda_cflags, with_cuda,
    )  # fmt: skip


def load_inline(
    name: str, cpp_sources: Any, cuda_sources: Any = None, sycl_sources: Any = None, functions: Any = None,
    extra_cflags: Any = None, extra_cuda_cflags: Any = None, extra_sycl_cflags: Any = None, extra_ldflags: Any = None,
    extra_include_paths: Any = None, build_directory: str | None = None, verbose: bool = False,
    with_cuda: bool | None = None, with_sycl: bool | None = None, is_python_module: bool = True,
    with_pytorch_error_handling: bool = True, keep_intermediates: bool = True, use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:  # fmt: skip
    """:func:`load` for source text, with PyTorch's implicit headers and bindings of ``functions``; ``use_pch`` precompiles the header."""
    from shim_torch._impl.extensions import jit
    from shim_torch._impl.extensions.sources import write_sources

    if sycl_sources or with_sycl:
        _refuse("load_inline")
    folder = build_directory or _get_build_directory(name, verbose)
    sources = write_sources(folder, cpp_sources, cuda_sources, functions, no_implicit_headers)
    if use_pch and not no_implicit_headers:
        jit.precompiled(extra_cflags)
    return jit.compile_and_load(
        "load_inline", name, sources, folder, extra_cflags, extra_ldflags, extra_include_paths, verbose, is_python_module,
        False, extra_cuda_cflags, with_cuda,
    )  # fmt: skip


def _jit_compile(*_: Any, **__: Any) -> None:
    """PyTorch's own way to ``load``; NotImplementedError."""
    _refuse("_jit_compile")


def _import_module_from_library(module_name: str, path: str, is_python_module: bool) -> Any:
    """Loads ``path/module_name.so``."""
    from shim_torch._impl.extensions import jit

    return jit.import_library(module_name, os.path.join(path, f"{module_name}{LIB_EXT}"), is_python_module)


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension of C++ sources that need no header of PyTorch's but those of their include_dirs."""
    from shim_torch._impl.extensions import build

    return build.extension("CppExtension", name, sources, *args, **kwargs)


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """:func:`CppExtension` whose ``.cu`` sources nvcc compiles, linked to the CUDA runtime; flags by ``{"cxx": …, "nvcc": …}``.

    Errors: OSError without a CUDA toolkit.
    """
    from shim_torch._impl.extensions import build

    return build.extension("CUDAExtension", name, sources, *args, **kwargs)


def SyclExtension(name: str, sources: Any, *_: Any, **__: Any) -> None:
    """Compiling SYCL sources raises NotImplementedError."""
    _refuse("SyclExtension")


_asked = _module_getattr(__name__)


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":  # setuptools is imported by those who build
        from shim_torch._impl.extensions import build

        globals()[name] = build.build_extension_class()
        return globals()[name]
    return _asked(name)
