"""What Triton's interpreter gets wrong or lacks, each mend for the Triton versions that need it.

A mend changes one of Triton's modules right after that was executed, or at once (with its undo) when it was already
there. None is applied to a Triton newer than the last one it was tested with.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from contextlib import ExitStack
from types import ModuleType

from shim_torch_proxy.adapters.triton.mends import (
    arithmetic,
    cuda,
    descriptors,
    elementwise,
    floats,
    functions,
    launch,
    libdevice,
    logic,
    names,
    reductions,
    scalars,
    scaled,
    shapes,
)
from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

MENDS: tuple[Mend, ...] = (
    *floats.MENDS,
    *arithmetic.MENDS,
    *reductions.MENDS,
    *elementwise.MENDS,
    *scaled.MENDS,
    *descriptors.MENDS,
    *scalars.MENDS,
    *logic.MENDS,
    *libdevice.MENDS,
    *launch.MENDS,
    *names.MENDS,
    *shapes.MENDS,
    *functions.MENDS,
    *cuda.MENDS,
)
_DONE = "_mended_by_shim_torch"
MODULES = tuple(sorted({mend.module for mend in MENDS}))


def parse(version: str) -> tuple[int, int]:
    """The first two numbers of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def interpreting() -> bool:
    """Whether Triton interprets its kernels."""
    knobs = sys.modules.get("triton.knobs")
    if knobs is not None:
        return bool(knobs.runtime.interpret)
    return os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "yes", "on", "y")


def apply(module: ModuleType, stack: ExitStack | None = None) -> None:
    """Applies the mends of Triton's ``module``; with ``stack``, for as long as that is open."""
    if not interpreting() or vars(module).get(_DONE):
        return
    vars(module)[_DONE] = True
    if stack is not None:
        stack.callback(vars(module).pop, _DONE)
    version = parse(sys.modules["triton"].__version__)
    for mend in MENDS:
        if mend.module == module.__name__ and mend.wanted(version):
            mend.apply(module, Patch(stack))


def report() -> list[str]:
    """A line for each mend, and whether the installed Triton needs it."""
    try:
        version = parse(importlib.metadata.version("triton"))
    except importlib.metadata.PackageNotFoundError:
        version = None
    lines = []
    for mend in MENDS:
        last = (mend.until[0], mend.until[1] - 1)
        span = f"Triton {mend.since[0]}.{mend.since[1]} to {last[0]}.{last[1]}"
        here = "" if version is None or mend.wanted(version) else f"; not for {version[0]}.{version[1]}"
        lines.append(f"{mend.name}: {mend.what} ({span}{here})")
    return lines
