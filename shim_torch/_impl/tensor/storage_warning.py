"""The warning that TypedStorage is deprecated: once, where code of others first uses one."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface.own import is_own

MESSAGE = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should "
    "only matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() "
    "instead of tensor.storage()"
)
# Public methods that do not warn in PyTorch either, and one that does so itself.
_SILENT = ("__eq__", "__hash__", "filename", "from_file", "is_sparse", "__instancecheck__")
_always = _given = False


def set_always(always: bool) -> None:
    """Whether every use warns."""
    global _always
    _always = always


def always_warns() -> bool:
    """Whether every use warns."""
    return _always


def forget() -> None:
    """The next use warns again."""
    global _given
    _given = False


def warn(stacklevel: int = 2) -> None:
    """Warns, the first time or always, at the frame that ``warnings.warn`` would find at this level in the caller."""
    global _given
    if _always or not _given:
        _given = True
        warnings.warn(MESSAGE, UserWarning, stacklevel=stacklevel + 1)


def warn_others() -> None:
    """Warns where code of others called the caller."""
    if (_always or not _given) and not is_own(sys._getframe(2)):
        warn(3)


def _warned(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        warn_others()
        return f(*args, **kwargs)

    return called


def warns(cls: Any) -> Any:
    """The class with its public methods and properties warning where code of others calls them."""
    for name, value in list(vars(cls).items()):
        if name in _SILENT or (name.startswith("_") and not (name.startswith("__") and name.endswith("__"))):
            continue
        if isinstance(value, property) and value.fget:
            setattr(cls, name, property(_warned(value.fget)))
        elif callable(value) and not isinstance(value, type):
            setattr(cls, name, _warned(value))
    return cls
