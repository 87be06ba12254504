"""``jvp`` of an ``autograd.Function`` under ``torch.func.jvp``, which finds tangents as gradients of gradients.

A tangent is linear in the inputs' tangents, and a cotangent in the results': each is the other's transpose. So where a
backward runs only to be differentiated by its cotangents, a function whose own backward is the ``jvp`` stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.function import Function, _SingleLevelFunction


@contextmanager
def own_tangents() -> Iterator[None]:
    """Within it the backward of a Function is :func:`transposed_jvp`."""
    before = _core._want_own_tangents(True)
    try:
        yield
    finally:
        _core._want_own_tangents(before)


class _Transposed(Function):
    """Zeros like the inputs, which stand for their cotangents; backward: the Function's ``jvp``."""

    @staticmethod
    def forward(ctx: Any, function: Any, node: Any, inputs: Any, *cotangents: Any) -> Any:
        ctx.function, ctx.node, ctx.inputs = function, node, inputs
        ctx.of_tensor = [isinstance(c, _core.TensorBase) for c in cotangents]
        ctx.set_materialize_grads(False)
        return tuple(x.clone() for x in inputs if x is not None)

    @staticmethod
    def backward(ctx: Any, *tangents: Any) -> Any:
        given = iter(tangents)
        along = [None if x is None else next(given) for x in ctx.inputs]
        if ctx.node.materialize_grads:
            along = [x if t is None and _has_tangents(x) else t for x, t in zip(ctx.inputs, along, strict=True)]
        before = _core._want_own_tangents(False)
        try:
            found = ctx.function.jvp(ctx.node, *along)
        finally:
            _core._want_own_tangents(before)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(ctx.of_tensor):
            raise RuntimeError(
                "Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(ctx.of_tensor)} but got {len(found)})"
            )
        return None, None, None, *(f if t else None for f, t in zip(found, ctx.of_tensor, strict=True))


def _has_tangents(x: Any) -> bool:
    return x is not None and (x.is_floating_point() or x.is_complex())


def transposed_jvp(function: Any, node: Any, inputs: Any, cotangents: Any) -> Any:
    """The cotangents of the inputs, right only in their gradient; None for a Function of ours, which has no ``jvp``."""
    if function.jvp is _SingleLevelFunction.jvp:
        if function.__module__.startswith("shim_torch."):
            return None
        return function.jvp(node)  # its error
    found = iter(_Transposed.apply(function, node, inputs, *cotangents))
    return tuple(None if x is None else next(found) for x in inputs)
