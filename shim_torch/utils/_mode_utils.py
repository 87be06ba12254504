"""``torch.utils._mode_utils``: small helpers for modes."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def all_same_mode(modes: Any) -> bool:
    """Whether all items are the same object."""
    return all(mode == modes[0] for mode in modes)


def no_dispatch() -> Any:
    """Within it neither modes nor subclasses see operators by ``__torch_dispatch__``."""
    from shim_torch.utils._python_dispatch import _no_dispatch

    return _no_dispatch()
