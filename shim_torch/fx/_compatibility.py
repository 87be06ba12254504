"""``torch.fx._compatibility``: whether a public name may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["compatibility"]

_T = TypeVar("_T")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that notes a class or function, and in its doc whether it stays as it is."""

    def mark(fn: _T) -> _T:
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS[fn] = None
        _MARKED_WITH_COMPATIBILITY[fn] = None
        if isinstance(doc := getattr(fn, "__doc__", None), str):
            stays = "is guaranteed" if is_backward_compatible else "is NOT guaranteed"
            fn.__doc__ = f"{doc.rstrip()}\n\n.. note::\n    Backwards-compatibility for this API {stays}.\n"
        return fn

    return mark
