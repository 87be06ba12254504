"""``python -m torch.utils.collect_env``: what is installed, as text for a report, and what it is put together from."""

from __future__ import annotations

import locale
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["get_env_info", "get_pretty_env_info", "main"]

_Run = Callable[[str | list[str]], tuple[int, str, str]]

_PIP = (
    "torch numpy triton mypy flake8 onnx optree cupy-cuda12x cupy-cuda13x ml_dtypes liger-kernel liger_kernel shim-torch"
).split()
_CONDA = "torch numpy triton mkl cudatoolkit magma soumith cupy".split()

SystemEnv = namedtuple(
    "SystemEnv",
    "torch_version is_debug_build cuda_compiled_version gcc_version clang_version cmake_version os libc_version "
    "python_version python_platform is_cuda_available cuda_runtime_version cuda_module_loading nvidia_driver_version "
    "nvidia_gpu_models cudnn_version is_xpu_available pip_version pip_packages conda_packages hip_compiled_version "
    "hip_runtime_version miopen_runtime_version caching_allocator_config is_xnnpack_available cpu_info",
)


def run(command: str | list[str]) -> tuple[int, str, str]:
    """Exit status, standard output and standard error (both stripped) of a command; a string goes to the shell."""
    done = subprocess.run(command, capture_output=True, shell=isinstance(command, str), check=False)
    encoding = "utf-8" if sys.platform != "win32" else locale.getpreferredencoding()
    return (
        done.returncode,
        done.stdout.decode(encoding, "replace").strip(),
        done.stderr.decode(encoding, "replace").strip(),
    )


def run_and_read_all(run_lambda: _Run, command: str | list[str]) -> str | None:
    """What a command prints, None if it fails."""
    status, out, _ = run_lambda(command)
    return out if status == 0 else None


def run_and_parse_first_match(run_lambda: _Run, command: str | list[str], regex: str) -> str | None:
    """The first group of ``regex`` in what a command prints, None if it fails or nothing matches."""
    status, out, _ = run_lambda(command)
    match = re.search(regex, out) if status == 0 else None
    return match.group(1) if match else None


def run_and_return_first_line(run_lambda: _Run, command: str | list[str]) -> str | None:
    """The first line of what a command prints, None if it fails."""
    status, out, _ = run_lambda(command)
    return out.split("\n")[0] if status == 0 else None


def get_platform() -> str:
    """``linux``, ``darwin``, ``win32`` or ``cygwin``."""
    return next(
        (name for name in ("linux", "win32", "cygwin", "darwin") if sys.platform.startswith(name)), sys.platform
    )


def get_python_platform() -> str:
    """``platform.platform()``."""
    return platform.platform()


def get_libc_version() -> str:
    """``glibc-2.36``; ``N/A`` elsewhere than on Linux."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def _first_match(name: str, command: str, regex: str, what: str) -> Callable[[_Run], str | None]:
    """A function that looks for ``regex`` in what ``command`` prints."""

    def asked(run_lambda: _Run) -> str | None:
        return run_and_parse_first_match(run_lambda, command, regex)

    asked.__name__ = asked.__qualname__ = name
    asked.__doc__ = f"{what}, by ``{command}``; None where it is not found."
    return asked


get_gcc_version = _first_match("get_gcc_version", "gcc --version", r"gcc (.*)", "GCC's version")
get_clang_version = _first_match("get_clang_version", "clang --version", r"clang version (.*)", "Clang's version")
get_cmake_version = _first_match("get_cmake_version", "cmake --version", r"cmake (.*)", "CMake's version")
get_mac_version = _first_match("get_mac_version", "sw_vers -productVersion", r"(.*)", "The version of macOS")
get_lsb_version = _first_match("get_lsb_version", "lsb_release -a", r"Description:\t(.*)", "The distribution")
check_release_file = _first_match("check_release_file", "cat /etc/*-release", r'PRETTY_NAME="(.*)"', "The distribution")
get_nvidia_driver_version = _first_match(
    "get_nvidia_driver_version", "nvidia-smi", r"Driver Version: (.*?) ", "Its version"
)
get_running_cuda_version = _first_match(
    "get_running_cuda_version", "nvcc --version", r"release .+ V(.*)", "The toolkit"
)


def get_os(run_lambda: _Run) -> str:
    """The operating system and the machine: ``Debian GNU/Linux 12 (bookworm) (x86_64)``."""
    kind = get_platform()
    if kind == "darwin":
        version = get_mac_version(run_lambda)
        return f"macOS {version} ({platform.machine()})" if version else kind
    if kind == "linux":
        name = check_release_file(run_lambda) or get_lsb_version(run_lambda) or kind
        return f"{name} ({platform.machine()})"
    return kind


def get_nvidia_smi() -> str:
    """The command that asks for GPUs."""
    return "nvidia-smi"


def get_gpu_info(run_lambda: _Run) -> str | None:
    """A line a GPU, without its UUID."""
    status, out, _ = run_lambda(f"{get_nvidia_smi()} -L")
    return re.sub(r" \(UUID: .+?\)", "", out) if status == 0 else None


def get_cudnn_version(run_lambda: _Run) -> str | None:
    """The files of cuDNN that the loader knows, a path a line; None without any."""
    listed = re.findall(r"=> (.*libcudnn.*)", run_and_read_all(run_lambda, "ldconfig -p") or "")
    return "\n".join(sorted({os.path.realpath(path) for path in listed if os.path.isfile(path)})) or None


def get_cpu_info(run_lambda: _Run) -> str | None:
    """What the system says of its processors: ``Model name: …`` and so on, a fact a line."""
    kind = get_platform()
    if kind == "linux":
        return run_and_read_all(run_lambda, "lscpu")
    return run_and_read_all(run_lambda, "sysctl -n machdep.cpu.brand_string") if kind == "darwin" else None


def get_pip_packages(run_lambda: _Run, patterns: Iterable[str] | None = None) -> tuple[str, str]:
    """``pip3`` and the installed packages whose names have one of ``patterns`` in them, a ``name==version`` a line."""
    from importlib import metadata

    wanted = tuple(_PIP if patterns is None else patterns)
    found = {f"{each.name}=={each.version}" for each in metadata.distributions() if each.name}
    return "pip3", "\n".join(sorted(each for each in found if any(name in each for name in wanted)))


def get_conda_packages(run_lambda: _Run, patterns: Iterable[str] | None = None) -> str | None:
    """Packages that conda has whose lines have one of ``patterns`` in them; None without conda."""
    conda = os.environ.get("CONDA_EXE", "conda")
    out = run_and_read_all(run_lambda, f"{conda} list") if shutil.which(conda) else None
    wanted = tuple(_CONDA if patterns is None else patterns)
    lines = [line for line in (out or "").splitlines() if not line.startswith("#")]
    return None if out is None else "\n".join(line for line in lines if any(name in line for name in wanted))


def get_cachingallocator_config() -> dict[str, str]:
    """The variables of the environment that set the allocator up, of those that are there."""
    names = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def get_cuda_module_loading_config() -> str:
    """``CUDA_MODULE_LOADING`` where CUDA is there, ``N/A`` otherwise."""
    import shim_torch

    return os.environ.get("CUDA_MODULE_LOADING", "") if shim_torch.cuda.is_available() else "N/A"


def is_xnnpack_available() -> str:
    """``False``: XNNPACK is PyTorch's."""
    return "False"


_ASKED: dict[str, Callable[[_Run], Any]] = {
    "gcc_version": get_gcc_version,
    "clang_version": get_clang_version,
    "cmake_version": get_cmake_version,
    "os": get_os,
    "cuda_runtime_version": get_running_cuda_version,
    "nvidia_driver_version": get_nvidia_driver_version,
    "nvidia_gpu_models": get_gpu_info,
    "cudnn_version": get_cudnn_version,
    "conda_packages": get_conda_packages,
    "cpu_info": get_cpu_info,
}
_ROCM = ("hip_compiled_version", "hip_runtime_version", "miopen_runtime_version")


def get_env_info() -> SystemEnv:
    """What is installed, by name; None is what was not found, ``N/A`` what there cannot be."""
    import shim_torch as torch

    pip, packages = get_pip_packages(run)
    return SystemEnv(
        **{name: ask(run) for name, ask in _ASKED.items()},
        **dict.fromkeys(_ROCM, "N/A"),
        torch_version=torch.__version__,
        is_debug_build="False",
        cuda_compiled_version=torch.version.cuda,
        libc_version=get_libc_version(),
        python_version=f"{' '.join(sys.version.split())} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available=str(torch.cuda.is_available()),
        cuda_module_loading=get_cuda_module_loading_config(),
        is_xpu_available=str(torch.xpu.is_available()),
        pip_version=pip,
        pip_packages=packages,
        caching_allocator_config=get_cachingallocator_config(),
        is_xnnpack_available=is_xnnpack_available(),
    )


_REPORT = {
    "Python": {
        "python_version": "interpreter",
        "torch_version": "answers as torch",
        "pip_packages": "packages, by pip",
        "conda_packages": "packages, by conda",
    },
    "System": {
        "os": "name",
        "python_platform": "platform",
        "libc_version": "C library",
        "gcc_version": "gcc",
        "clang_version": "clang",
        "cmake_version": "cmake",
    },
    "GPUs": {
        "nvidia_gpu_models": "devices",
        "is_cuda_available": "can be used",
        "nvidia_driver_version": "NVIDIA driver",
        "cuda_compiled_version": "CUDA that torch.version names",
        "cuda_runtime_version": "CUDA toolkit",
        "cudnn_version": "cuDNN",
        "cuda_module_loading": "CUDA_MODULE_LOADING",
        "caching_allocator_config": "allocator's settings",
    },
    "Processors": {"cpu_info": "all"},
}  # section -> field of SystemEnv -> what it is called


def _shown(label: str, value: object) -> list[str]:
    """A fact as lines; none where there is nothing to say."""
    if value in ("", {}, "N/A"):
        return []
    lines = "not found" if value is None else str(value)
    return [f"  {label}: {lines}"] if "\n" not in lines else [f"  {label}:", textwrap.indent(lines, "    ")]


def pretty_str(envinfo: SystemEnv) -> str:
    """The report of what :func:`get_env_info` found, a section for Python, the system, the GPUs and the processors."""
    sections = []
    for title, rows in _REPORT.items():
        facts = [line for name, label in rows.items() for line in _shown(label, getattr(envinfo, name))]
        sections.append("\n".join([title, *facts]))
    return "\n\n".join(sections)


def _ours() -> str:
    """What a report to shim-torch says besides: whose torch this is, and the driver as it sees it."""
    from importlib import metadata

    from shim_torch._impl.native import _core

    try:
        version = metadata.version("shim-torch")
    except metadata.PackageNotFoundError:
        version = "not installed"
    driver = _core.cuda_driver_version() if _core.cuda_device_count() else f"none ({_core.cuda_why_not()})"
    return f"shim-torch: {version}\nCUDA driver: {driver}"


def get_pretty_env_info() -> str:
    """The report: shim-torch's version and the driver it sees, then what :func:`get_env_info` found."""
    return f"{_ours()}\n\n{pretty_str(get_env_info())}"


def main() -> None:
    """Prints it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
