"""``torch._C._functions``: Functions that PyTorch writes in C++."""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.function import DelayedError, Function

__all__ = ["DelayedError", "UndefinedGrad"]


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        results = tuple(a.clone() for a in args)
        return results[0] if len(results) == 1 else results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return tuple(None for _ in grads)


class UndefinedGrad:
    """Copies its inputs; no gradient comes back through it."""

    def __call__(self, *args: Any) -> Any:
        return _Undefined.apply(*args)


def __getattr__(name: str) -> Any:
    """The type of a kind of node: ``AccumulateGrad``, ``ExpBackward0``."""
    from shim_torch._impl.native import _core

    if name[:1].isupper() and (name in ("AccumulateGrad", "CopyBackwards", "CopySlices") or "Backward" in name):
        written = name in ("AccumulateGrad", "CopySlices")  # these have their C++ names
        return _core._node_type(f"torch::autograd::{name}" if written else name)
    raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")
