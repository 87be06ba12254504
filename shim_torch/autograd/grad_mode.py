"""Switches for recording gradients, as context managers and decorators (torch.autograd.grad_mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd.grad_mode import (
    _Decorator,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from shim_torch._impl.native import _core

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class _unsafe_preserve_version_counter:
    """Within it, in-place writes to tensors don't count."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _core.TensorBase) else tuple(tensors)
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        for t, version in zip(self.tensors, self.versions, strict=True):
            _core.set_version(t, version)


_multithreading = True


class set_multithreading_enabled(_Decorator):
    """Backward runs on the calling thread always: the setting is kept for programs that look at it."""

    def __init__(self, mode: bool) -> None:
        global _multithreading
        self.mode, self.before = mode, _multithreading
        _multithreading = bool(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        global _multithreading
        _multithreading = self.before

    def clone(self) -> set_multithreading_enabled:
        """A new context of the same mode."""
        return type(self)(self.mode)


class _force_original_view_tracking(_Decorator):
    """Within it every view can be replayed from another base, and turned round (``Tensor._rev_view_func_unsafe``)."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.before = mode, _core._set_view_replay_enabled(mode)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        _core._set_view_replay_enabled(self.before)
        return super().__call__(func)

    def __enter__(self) -> None:
        _core._set_view_replay_enabled(self.mode)

    def __exit__(self, *exc: Any) -> None:
        _core._set_view_replay_enabled(self.before)

    def clone(self) -> _force_original_view_tracking:
        return type(self)(self.mode)


for _class in (set_multithreading_enabled, _force_original_view_tracking):
    _class.__module__ = "torch.autograd.grad_mode"
