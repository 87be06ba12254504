"""``torch.nn.attention``: which backend of scaled_dot_product_attention may be used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from shim_torch._impl.backends import attention as _switches
from shim_torch._impl.backends.attention import (
    SDPAParams,
    can_use_efficient_attention,
    can_use_flash_attention,
)

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The backends of scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_NAMES = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return [b for b, name in _NAMES.items() if _switches._sdp[name] and b is not SDPBackend.OVERRIDEABLE]


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Allows only the given forms within a ``with`` block.

    The switches are read by ``torch.backends.cuda.flash_sdp_enabled()`` and its like; with MATH not among them
    scaled_dot_product_attention still computes the math form.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    allowed = {backends} if isinstance(backends, SDPBackend) else set(backends)
    old = dict(_switches._sdp)
    _switches._sdp.update({name: b in allowed for b, name in _NAMES.items()})
    try:
        yield {}
    finally:
        _switches._sdp.update(old)


def _get_flash_version() -> str:
    """The version of PyTorch's flash attention: none is here."""
    return ""


def list_flash_attention_impls() -> list[str]:
    """The flash attention kernels that can be activated: none."""
    return []


def current_flash_attention_impl() -> str | None:
    """The name of the registered implementation of flash attention; None: the built-in one."""
    return None


def activate_flash_attention_impl(impl: str) -> None:
    """Raises NotImplementedError: the implementation cannot be replaced."""
    raise NotImplementedError(
        f"torch.nn.attention.activate_flash_attention_impl({impl!r}) is not supported by shim-torch"
    )


def restore_flash_attention_impl() -> None:
    """Does nothing: no implementation can be registered."""


def __getattr__(name: str) -> Any:
    if name in ("flex_attention", "bias", "experimental", "varlen"):
        from importlib import import_module

        try:
            return import_module(f"shim_torch.nn.attention.{name}")
        except ModuleNotFoundError:
            pass
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.attention", name)
