"""Warnings that PyTorch gives once a process, or always after ``torch.set_warn_always(True)``."""

from __future__ import annotations

import warnings

from native import _core

_given: set[str] = set()


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that are given once a process come each time."""
    _core.set_warn_always(b)


def is_warn_always_enabled() -> bool:
    return _core.warn_always()


def warn_once(message: str, stacklevel: int = 3) -> None:
    """A UserWarning, the first time only; by default it points at the caller of the function that warns."""
    if message in _given and not _core.warn_always():
        return
    _given.add(message)
    warnings.warn(message, stacklevel=stacklevel)
