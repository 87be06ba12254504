"""``torch._custom_ops``: the older names of ``torch.library``'s functions for fake kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import library
from shim_torch._missing import asked_of as _asked_of

get_ctx = library.get_ctx
impl_abstract = library.register_fake


def impl(qualname: str, *, device_types: Any = ("cpu", "cuda"), func: Callable[..., Any] | None = None) -> Any:
    """Registers an implementation for device types; a decorator without ``func``."""
    return library.impl(qualname, device_types, func)

__getattr__ = _asked_of(__name__)
