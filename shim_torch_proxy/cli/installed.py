"""What doctor looks for in the environment: wheels that cannot load here, and files that hide a package."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # site-packages, or the source tree
OURS = ("compat", "shim_torch", "shim_torch_proxy")
OTHERS = ("numpy", "ml_dtypes", "triton", "cupy")


def cpp_abi_wheels() -> dict[str, str]:
    """Installed distributions with libraries of PyTorch's C++ ABI, which load beside PyTorch only: name -> one such file."""
    from shim_torch_proxy.cli import binaries

    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if name.lower() == "torch":
            continue
        for file in distribution.files or ():
            if binaries.is_shared_object(file.name) and _is_cpp_abi(str(distribution.locate_file(file))):
                found[name] = str(file)
                break
    return found


def _is_cpp_abi(path: str) -> bool:
    try:
        from shim_torch._impl.extensions import elf, load
        from shim_torch._impl.native import stand_ins

        if not set(elf.read(path, symbols=False).needed) & set(stand_ins.SONAMES):
            return False
        return load.classify(elf.read(path))[0] == "C++ ABI"
    except (ImportError, OSError, ValueError):
        return False


def shadowed(folder: str | None = None) -> dict[str, str]:
    """Files that are imported in place of a package that we need: its name -> the file, or a reason.

    ``folder``: where programs are started, which comes first in their search (the current folder). What code in scope
    imports as torch is never hidden: the hook answers before any file does.
    """
    folder = os.getcwd() if folder is None else folder
    rest = [place for place in sys.path if place and os.path.realpath(place) != os.path.realpath(folder)]
    found = {}
    for name in (*OURS, *OTHERS):
        place = _origin(name, [folder, *rest])
        wanted = str(ROOT / name / "__init__.py") if name in OURS else _origin(name, rest)
        if place is not None and wanted is not None and os.path.realpath(place) != os.path.realpath(wanted):
            found[name] = place
    return found


def _origin(name: str, places: list[str]) -> str | None:
    for place in places:  # one by one: a folder without __init__.py counts only where no module of the name follows
        spec = PathFinder.find_spec(name, [place])
        if spec is not None and spec.origin is not None:
            return spec.origin
    return None
