"""Operators that exist to test autograd have gradients of their own where their tensor is nested."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nested.base import handles
from shim_torch.autograd.function import Function


class _Cloned(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, nested_only: bool) -> Any:
        ctx.nested_only = nested_only
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * g + g if ctx.nested_only else g * g, None


@handles("_test_autograd_multiple_dispatch")
def _multiple_dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    x, nested_only = args[0], len(args) > 1 or "b" in kwargs
    return x.of_parts([_Cloned.apply(p, nested_only) for p in x.parts()])
