"""``torch.jit._state``: what was scripted so far: nothing."""

from __future__ import annotations


def _clear_class_state() -> None:
    """There are no scripted classes to forget."""
