"""``python -m compat doctor``: versions, devices, what works here and what to install."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import importlib.util
import json
import platform
from typing import Any

from shim_torch_proxy import adapters

PACKAGES = ("shim-torch", "numpy", "ml_dtypes", "triton", "cupy-cuda13x", "cupy-cuda12x", "torch", "liger-kernel")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def devices() -> tuple[list[str], str | None]:
    """(names of the CUDA devices, the reason when there are none)."""
    path = ctypes.util.find_library("cuda") or "libcuda.so.1"
    try:
        driver = ctypes.CDLL(path)
    except OSError:
        return [], "no NVIDIA driver (libcuda.so.1)"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return [], "the NVIDIA driver sees no device"
    found = []
    for index in range(count.value):
        name = ctypes.create_string_buffer(128)
        driver.cuDeviceGetName(name, 128, index)
        found.append(name.value.decode())
    return found, None


def _unmet() -> list[str]:
    """What the installed distribution requires and the environment has not, or has in another version."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return ["pip install packaging"]
    try:
        texts = importlib.metadata.requires("shim-torch") or []
    except importlib.metadata.PackageNotFoundError:  # a source tree
        return []
    lines = []
    for wanted in map(Requirement, texts):
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        found = _version(wanted.name)
        if found is None or not wanted.specifier.contains(found, prereleases=True):
            use = "" if wanted.name != "triton" else " (Triton kernels)"
            lines.append(f"pip install '{wanted.name}{wanted.specifier}'{use}" + ("" if found is None else f", not {found}"))
    return lines


def report() -> dict[str, Any]:
    """All that doctor prints."""
    found, reason = devices()
    advice = []
    try:
        import shim_torch

        core = f"ok, torch.__version__ {getattr(shim_torch, '__version__', '?')}"
    except Exception as error:  # whatever it is, doctor says it
        core = f"does not import: {type(error).__name__}: {error}"
        advice.append("pip install --force-reinstall shim-torch numpy ml_dtypes (one of them is missing or broken)")
    versions = {name: _version(name) for name in PACKAGES}
    advice += _unmet()
    if importlib.util.find_spec("triton") is None and not any("triton" in line for line in advice):
        advice.append("pip install triton (Triton kernels)")
    if found and importlib.util.find_spec("cupy") is None:
        advice.append("pip install 'shim-torch[cuda13]' or 'shim-torch[cuda12]' (operators on the GPU)")
    if importlib.util.find_spec("torch") is not None:
        advice.append("PyTorch is installed: name the scope; scope=None works only before anything imports it")
    mends = {}
    for family in adapters.FAMILIES:
        try:
            adapter = adapters.load(family)
        except ImportError:  # of NumPy: said above
            continue
        if adapter is not None:
            mends[family] = list(getattr(adapter, "report", list)())
    triton = "not installed" if importlib.util.find_spec("triton") is None else "GPU" if found else "interpreter (CPU)"
    return {
        "python": platform.python_version(),
        "packages": versions,
        "shim_torch": core,
        "devices": found,
        "no_device": reason,
        "triton kernels": triton,
        "mends": mends,
        "advice": advice,
    }


def main(as_json: bool) -> int:
    """Prints the report; 1 when shim_torch does not import."""
    result = report()
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print(f"Python          {result['python']}")
        for name, version in result["packages"].items():
            print(f"{name:15} {version or '-'}")
        print(f"shim_torch      {result['shim_torch']}")
        print(f"CUDA devices    {', '.join(result['devices']) or result['no_device']}")
        print(f"Triton kernels  {result['triton kernels']}")
        for family, lines in result["mends"].items():
            for line in lines:
                print(f"mend ({family})   {line}")
        for line in result["advice"]:
            print(f"to do           {line}")
    return 0 if result["shim_torch"].startswith("ok") else 1
