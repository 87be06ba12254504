"""Tensors of classes with ``__torch_dispatch__`` that have no memory of their own."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def wrapper_arguments(t: Any) -> tuple[Any, ...]:
    """What ``_rebuild_wrapper_subclass`` makes the tensor anew from."""
    place = (tuple(t.size()), tuple(t.stride()), t.storage_offset())
    return type(t), t.dtype, *place, t.layout, t.device, t.requires_grad


def is_wrapper(t: Any) -> bool:
    """Whether a tensor's class has a ``__torch_dispatch__`` of its own and it has elements, but no memory."""
    kind = type(t)
    if kind is _core.Tensor or kind.__torch_dispatch__ is _core._disabled_torch_dispatch_impl:
        return False
    return bool(t.layout == _core.strided and t.numel() and not t.is_meta and t.data_ptr() == 0)
