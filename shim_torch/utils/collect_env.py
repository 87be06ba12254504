"""``python -m torch.utils.collect_env``: what is installed, as text for a report, and what it is put together from."""

from __future__ import annotations

import locale
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable

from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of

__all__ = ["get_env_info", "get_pretty_env_info", "main"]

_Run = Callable[[str | list[str]], tuple[int, str, str]]

_COULD_NOT = "Could not collect"

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


def get_gcc_version(run_lambda: _Run) -> str | None:
    """What ``gcc --version`` says."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: _Run) -> str | None:
    """What ``clang --version`` says."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: _Run) -> str | None:
    """What ``cmake --version`` says."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_mac_version(run_lambda: _Run) -> str | None:
    """The version of macOS."""
    return run_and_parse_first_match(run_lambda, "sw_vers -productVersion", r"(.*)")


def get_lsb_version(run_lambda: _Run) -> str | None:
    """The distribution by ``lsb_release``."""
    return run_and_parse_first_match(run_lambda, "lsb_release -a", r"Description:\t(.*)")


def check_release_file(run_lambda: _Run) -> str | None:
    """The distribution by ``/etc/*-release``."""
    return run_and_parse_first_match(run_lambda, "cat /etc/*-release", r'PRETTY_NAME="(.*)"')


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


def get_nvidia_driver_version(run_lambda: _Run) -> str | None:
    """What ``nvidia-smi`` says of its driver."""
    return run_and_parse_first_match(run_lambda, get_nvidia_smi(), r"Driver Version: (.*?) ")


def get_gpu_info(run_lambda: _Run) -> str | None:
    """A line a GPU, without its UUID."""
    status, out, _ = run_lambda(f"{get_nvidia_smi()} -L")
    return re.sub(r" \(UUID: .+?\)", "", out) if status == 0 else None


def get_running_cuda_version(run_lambda: _Run) -> str | None:
    """The toolkit's version, by ``nvcc``."""
    return run_and_parse_first_match(run_lambda, "nvcc --version", r"release .+ V(.*)")


def get_cudnn_version(run_lambda: _Run) -> str | None:
    """Where the loader finds cuDNN, None if nowhere."""
    status, out, _ = run_lambda("ldconfig -p | grep libcudnn | rev | cut -d' ' -f1 | rev")
    files = sorted({os.path.realpath(line) for line in out.split("\n") if status == 0 and os.path.isfile(line)})
    if len(files) > 1:
        return "Probably one of the following:\n" + "\n".join(files)
    return files[0] if files else None


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


def get_env_info() -> SystemEnv:
    """Everything the report says, by name."""
    import shim_torch

    torch = shim_torch
    cuda = torch.cuda.is_available()
    pip, packages = get_pip_packages(run)
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=torch.__version__,
        is_debug_build="False",
        cuda_compiled_version=torch.version.cuda,
        gcc_version=get_gcc_version(run),
        clang_version=get_clang_version(run),
        cmake_version=get_cmake_version(run),
        os=get_os(run),
        libc_version=get_libc_version(),
        python_version=f"{' '.join(sys.version.split())} ({bits}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available=str(cuda),
        cuda_runtime_version=get_running_cuda_version(run),
        cuda_module_loading=get_cuda_module_loading_config(),
        nvidia_driver_version=get_nvidia_driver_version(run),
        nvidia_gpu_models=get_gpu_info(run),
        cudnn_version=get_cudnn_version(run),
        is_xpu_available=str(torch.xpu.is_available()),
        pip_version=pip,
        pip_packages=packages,
        conda_packages=get_conda_packages(run),
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config=get_cachingallocator_config(),
        is_xnnpack_available=is_xnnpack_available(),
        cpu_info=get_cpu_info(run),
    )


_LINES = """\
PyTorch version: {torch_version}
Is debug build: {is_debug_build}
CUDA used to build PyTorch: {cuda_compiled_version}
ROCM used to build PyTorch: {hip_compiled_version}

OS: {os}
GCC version: {gcc_version}
Clang version: {clang_version}
CMake version: {cmake_version}
Libc version: {libc_version}

Python version: {python_version}
Python platform: {python_platform}
Is CUDA available: {is_cuda_available}
CUDA runtime version: {cuda_runtime_version}
CUDA_MODULE_LOADING set to: {cuda_module_loading}
GPU models and configuration: {nvidia_gpu_models}
Nvidia driver version: {nvidia_driver_version}
cuDNN version: {cudnn_version}
Is XPU available: {is_xpu_available}
HIP runtime version: {hip_runtime_version}
MIOpen runtime version: {miopen_runtime_version}
Is XNNPACK available: {is_xnnpack_available}
Caching allocator config: {caching_allocator_config}

CPU:
{cpu_info}

Versions of relevant libraries:
{pip_packages}
{conda_packages}"""


def pretty_str(envinfo: SystemEnv) -> str:
    """The report of what :func:`get_env_info` found."""

    def shown(name: str, value: object) -> str:
        if value is None:
            value = _COULD_NOT
        elif value in ("", {}):
            value = "No relevant packages" if name.endswith("_packages") else "N/A"
        text = str(value)
        if name.endswith("_packages"):
            tag = envinfo.pip_version if name == "pip_packages" else "conda"
            return "\n".join(f"[{tag}] {line}" for line in text.split("\n"))
        return f"\n{text}" if "\n" in text and name in ("nvidia_gpu_models", "cudnn_version") else text

    return _LINES.format(**{name: shown(name, value) for name, value in envinfo._asdict().items()})


def _ours() -> str:
    """What a report to shim-torch says besides: whose torch this is, and the driver as it sees it."""
    from importlib import metadata

    from native import _core

    try:
        version = metadata.version("shim-torch")
    except metadata.PackageNotFoundError:
        version = "not installed"
    driver = _core.cuda_driver_version() if _core.cuda_device_count() else f"none ({_core.cuda_why_not()})"
    return f"shim-torch: {version}\nCUDA driver: {driver}"


def get_pretty_env_info() -> str:
    """The report: shim-torch's version and the driver it sees, then :func:`get_env_info` in PyTorch's layout."""
    return f"{_ours()}\n{pretty_str(get_env_info())}"


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
