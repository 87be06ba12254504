"""``torch.jit._state``: what was scripted so far: nothing."""

from __future__ import annotations

from shim_torch._impl.surface.missing import asked_of as _asked_of


def _clear_class_state() -> None:
    """There are no scripted classes to forget."""


__getattr__ = _asked_of(__name__)
