"""``torch._C._autograd``: what the profiler's records are made of."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from shim_torch._impl.native import _core


class DeviceType(IntEnum):
    """The kinds of device."""

    CPU = 0
    CUDA = 1
    MPS = 13
    XPU = 12
    Meta = 14


class _KinetoEvent:
    """An event of Kineto's profiler, which only the profiler makes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("torch._C._autograd._KinetoEvent: No constructor defined!")


SavedTensor = _core.SavedTensor
_push_saved_tensors_default_hooks = _core._push_saved_tensors_default_hooks
_pop_saved_tensors_default_hooks = _core._pop_saved_tensors_default_hooks
_top_saved_tensors_default_hooks = _core._top_saved_tensors_default_hooks
_saved_tensors_hooks_enable = _core._saved_tensors_hooks_enable
_saved_tensors_hooks_disable = _core._saved_tensors_hooks_disable
_saved_tensors_hooks_is_enabled = _core._saved_tensors_hooks_is_enabled
_saved_tensors_hooks_get_disabled_error_message = _core._saved_tensors_hooks_get_disabled_error_message


def _profiler_enabled() -> bool:
    """Whether a profile is being taken."""
    from shim_torch.autograd.profiler import _is_profiler_enabled

    return bool(_is_profiler_enabled())


def _unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Sets the counts of in-place writes; RuntimeError below 0."""
    for t, v in zip(tensors, versions, strict=True):
        _core.set_version(t, v)


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the backward pass that runs keeps the graph."""
    return _core._graph_task_retains_graph()
