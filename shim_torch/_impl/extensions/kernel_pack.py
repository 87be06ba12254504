"""Where the compiled CUDA kernels of the distribution ``shim-torch-kernels`` are, and what state they are in."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "data" / "kernels.txt"


def pack() -> str:
    """The pack's path: ``SHIM_TORCH_KERNEL_PACK`` (empty: none), or that of ``shim_torch_kernels``; empty if there is none."""
    own = os.environ.get("SHIM_TORCH_KERNEL_PACK")
    if own is not None:
        return own
    try:
        spec = importlib.util.find_spec("shim_torch_kernels")
    except (ImportError, ValueError):
        return ""
    for folder in (spec and spec.submodule_search_locations) or ():
        if os.path.exists(path := os.path.join(folder, "kernels.pack")):
            return path
    return ""


def places() -> tuple[str, str]:
    """(the pack, the table of what programs ask for); called by the core when the first kernel is asked for."""
    return pack(), str(TABLE)


def pack_state() -> dict[str, Any]:
    """``path``, ``why`` (what is wrong with the pack, or empty) and ``architectures`` ({90: number of kernels})."""
    from shim_torch._impl.native import _core

    path = pack()
    why, architectures = _core.kernel_pack_state(path)
    return {"path": path, "why": why, "architectures": architectures}


def cache_state() -> dict[str, Any]:
    """Of the folder that kernels are kept in.

    Keys: ``path``, ``why`` (why it cannot be used, or empty), ``kernels`` (their number), ``bytes``, ``failed`` (for each program
    that did not compile, its description and the compiler's log).
    """
    from shim_torch._impl.native import _core

    folder = _core.cache_folder()
    path = os.path.join(folder, "kernels") if folder else ""
    state: dict[str, Any] = {"path": path, "why": "", "kernels": 0, "bytes": 0, "failed": []}
    if not os.path.isdir(path):
        state["why"] = "" if path else "there is no place for it"
        return state
    state["why"] = _core.private_folder(path)
    for entry in () if state["why"] else sorted(os.scandir(path), key=lambda e: e.name):
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            continue
        if entry.name.endswith(".cubin"):
            state["kernels"] += 1
            state["bytes"] += found.st_size
        elif entry.name.endswith(".failed"):
            text = Path(entry.path).read_text(encoding="utf-8", errors="replace")
            sources, _, rest = text.partition(" ")
            if sources == _core.kernel_sources():  # not of another version's kernels
                state["failed"].append(rest)
    return state
