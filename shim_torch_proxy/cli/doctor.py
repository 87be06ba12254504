"""``python -m compat doctor``: what to do, then versions, devices and what works here."""

from __future__ import annotations

import ctypes.util
import glob
import importlib.metadata
import importlib.util
import json
import os
import platform
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shim_torch_proxy import adapters, requirements
from shim_torch_proxy.cli import installed, program, provide

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
            lines.append(
                f"pip install '{wanted.name}{wanted.specifier}'{use}" + ("" if found is None else f", not {found}")
            )
    return lines


def _advice(
    found: list[str], hidden: dict[str, str], abi: dict[str, str], kernels: dict[str, Any] | None = None
) -> list[str]:
    """What the user is to do, the worst first."""
    lines = [_about_hidden(name, file) for name, file in hidden.items()]
    lines += _unmet()
    if importlib.util.find_spec("triton") is None and not any("triton" in line for line in lines):
        lines.append("pip install triton (Triton kernels)")
    if found and importlib.util.find_spec("cupy") is None:
        lines.append("pip install 'shim-torch[cuda13]' or 'shim-torch[cuda12]' (operators on the GPU)")
    if kernels and kernels["pack"]["why"]:
        lines.append(f"install shim-torch-kernels of this version anew: {_about_pack(kernels['pack'])}")
    if requirements.is_installed():
        lines.append("PyTorch is installed: name the scope; scope=None works only before anything imports it")
    else:
        lines += [f"{name}: build it from source against the stable ABI, or use it with PyTorch ({file} needs PyTorch's C++ ABI)"
                  for name, file in abi.items()]  # fmt: skip
    lines += provide.about_unsatisfied(provide.unsatisfied(_site()))
    return lines


def _site() -> Path:
    return Path(sysconfig.get_path("purelib"))


def _left_behind(kernels: dict[str, Any] | None) -> list[str]:
    found = provide.left_behind(_site())
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    headers = os.path.join(base, "torch_extensions", "include-*")
    cache = os.path.dirname(kernels["cache"]["path"]) if kernels else ""
    found += [f"{cache} (kernels and measured plans; rm -r)"] if os.path.isdir(cache) else []
    found += [f"{headers} (headers for extensions; rm -r)"] if glob.glob(headers) else []
    return found


def _about_hidden(name: str, file: str) -> str:
    if name == "compat":
        return (
            f"{file} hides our compat: import shim_torch_proxy in its place, and run shim-torch, not python -m compat"
        )
    return f"rename {file}, or start Python in another folder: it is imported in place of {name}"


def _kernels() -> dict[str, Any]:
    """``pack`` and ``cache`` as shim_torch._impl.extensions.kernel_pack describes them."""
    from shim_torch._impl.extensions import kernel_pack

    return {"pack": kernel_pack.pack_state(), "cache": kernel_pack.cache_state()}


def _about_pack(pack: dict[str, Any]) -> str:
    if not pack["path"]:
        return "none: kernels are compiled when first used"
    if pack["why"]:
        return f"{pack['path']} is not used: {pack['why']}"
    numbers = ", ".join(f"sm_{a}: {n}" for a, n in sorted(pack["architectures"].items()))
    return f"{pack['path']} ({numbers or 'empty'})"


def _about_cache(cache: dict[str, Any]) -> str:
    if cache["why"]:
        return f"not used: {cache['why']}"
    return f"{cache['path']}, {cache['kernels']} kernels, {cache['bytes'] / 1e6:.1f} MB"


def _mends() -> dict[str, list[str]]:
    mends = {}
    for family in adapters.FAMILIES:
        try:
            adapter = adapters.load(family)
        except ImportError:  # of NumPy: said above
            continue
        if adapter is not None:
            mends[family] = list(getattr(adapter, "report", list)())
    return mends


def report() -> dict[str, Any]:
    """All that doctor prints.

    ``advice`` (what to do), ``python``, ``packages`` (name -> version or None), ``shim_torch`` ("ok, …", or why it does not
    import), ``devices``, ``no_device``, ``triton kernels``, ``provide`` (a sentence), ``cpp_abi`` (distribution -> a library that
    needs PyTorch's C++ ABI), ``kernels`` (the pack of CUDA kernels, and the folder that compiled ones are kept in; None where
    shim_torch does not import), ``shadowed`` (package -> the file that is imported in its place), ``left_behind`` (what ``pip uninstall
    shim-torch`` does not remove, and how to), ``mends`` (family -> lines).
    """
    found, reason = devices()
    broken: list[str] = []
    abi: dict[str, str] = {}
    kernels: dict[str, Any] | None = None
    try:
        import shim_torch

        core = f"ok, torch.__version__ {getattr(shim_torch, '__version__', '?')}"
    except Exception as error:  # whatever it is, doctor says it
        core = f"does not import: {type(error).__name__}: {error}"
        broken.append("pip install --force-reinstall shim-torch numpy ml_dtypes (one of them is missing or broken)")
    else:
        abi = installed.cpp_abi_wheels()
        kernels = _kernels()
    hidden = installed.shadowed()
    triton = "not installed" if importlib.util.find_spec("triton") is None else "GPU" if found else "interpreter (CPU)"
    return {
        "advice": [*broken, *_advice(found, hidden, abi, kernels)],
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "shim_torch": core,
        "devices": found,
        "no_device": reason,
        "triton kernels": triton,
        "provide": provide.state(_site()),
        "cpp_abi": abi,
        "kernels": kernels,
        "shadowed": hidden,
        "left_behind": _left_behind(kernels),
        "mends": _mends(),
    }


def lines(result: dict[str, Any], mends: bool) -> Iterator[str]:
    """The report as text: what to do, then what there is."""
    yield "To do:" if result["advice"] else "Nothing to do."
    for line in result["advice"]:
        yield f"  - {line}"
    yield ""
    yield f"Python          {result['python']}"
    for name, version in result["packages"].items():
        yield f"{name:15} {version or '-'}"
    yield f"shim_torch      {result['shim_torch']}"
    yield f"CUDA devices    {', '.join(result['devices']) or result['no_device']}"
    yield f"Triton kernels  {result['triton kernels']}"
    yield f"provide         {result['provide']}"
    yield f"C++ ABI wheels  {', '.join(result['cpp_abi']) or 'none'}"
    if kernels := result["kernels"]:
        yield f"kernel pack     {_about_pack(kernels['pack'])}"
        yield f"kernel cache    {_about_cache(kernels['cache'])}"
        for failed in kernels["cache"]["failed"]:
            first, _, log = failed.partition("\n")
            yield f"failed kernel   {first}: {log.strip().partition(chr(10))[0]}"
    yield f"shadowed        {', '.join(result['shadowed']) or 'nothing'}"
    yield f"uninstalling    pip uninstall shim-torch leaves {', '.join(result['left_behind']) or 'nothing'}"
    for family, all_of in result["mends"].items():
        if not mends:
            yield f"mends           {len(all_of)} of {family}'s interpreter ({program()} doctor --mends lists them)"
            continue
        for line in all_of:
            yield f"mend ({family})   {line}"


def main(as_json: bool, mends: bool = False) -> int:
    """Prints the report; 1 when shim_torch does not import."""
    result = report()
    print(json.dumps(result, indent=1) if as_json else "\n".join(lines(result, mends)))
    return 0 if result["shim_torch"].startswith("ok") else 1
