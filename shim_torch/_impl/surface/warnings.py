"""Warnings that PyTorch gives once a process, or always after ``torch.set_warn_always(True)``."""

from __future__ import annotations

import sys
import warnings

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.surface.own import is_own

_given: set[str] = set()


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that are given once a process come each time."""
    _core.set_warn_always(b)


def is_warn_always_enabled() -> bool:
    """Whether warnings are given each time instead of once."""
    return _core.warn_always()


def _outside() -> int:
    """The ``stacklevel``, for a call in ``warn_once``, of the nearest frame that is not this package's."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_own(frame):
        level, frame = level + 1, frame.f_back
    return level


def warn_once(message: str, stacklevel: int | None = None) -> None:
    """A UserWarning, the first time only; it points at the nearest code outside this package unless a level is given."""
    if message in _given and not _core.warn_always():
        return
    _given.add(message)
    warnings.warn(message, stacklevel=_outside() if stacklevel is None else stacklevel)


naming.present(globals(), "torch")
