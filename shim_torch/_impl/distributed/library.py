"""Where the MPI library is that groups of several processes on CPUs use."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from pathlib import Path

from shim_torch._impl.native import _core

_NAME = "libmpi_abi.so.1"  # MPI's standard ABI


def _candidates() -> list[Path]:
    found = []
    try:
        for file in importlib.metadata.files("mpich") or ():
            if file.name == _NAME:
                found.append(Path(str(file.locate())).resolve())
    except importlib.metadata.PackageNotFoundError:
        pass
    return [*found, Path(sys.prefix) / "lib" / _NAME]


@functools.cache
def mpi_library() -> bool:
    """Whether it is there: SHIM_TORCH_MPI_LIBRARY, else of the wheel ``mpich``, else the system's."""
    own = os.environ.get("SHIM_TORCH_MPI_LIBRARY")
    paths = [Path(own)] if own else [path for path in _candidates() if path.exists()]
    if paths:
        _core.mpi_look_at(str(paths[0]))
    return _core.mpi_why_not() is None
