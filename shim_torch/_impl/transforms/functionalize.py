"""``torch.func.functionalize``: a function run without writes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.functionalization import FunctionalTensor, FunctionalTensorMode, value_of
from shim_torch.utils._pytree import tree_map


def functional(func: Callable[..., Any], copies: bool) -> Callable[..., Any]:
    """The function, run without writes: those to its arguments are made at its end, by ``copy_``."""

    def run(*args: Any, **kwargs: Any) -> Any:
        mode = FunctionalTensorMode(copies=copies)
        made: dict[int, tuple[Any, Any]] = {}

        def wrap(x: Any) -> Any:
            if not isinstance(x, _core.TensorBase):
                return x
            if id(x) not in made:
                made[id(x)] = x, _entered(x, mode)
            return made[id(x)][1]

        inputs = tree_map(wrap, args), tree_map(wrap, kwargs)
        with mode:
            found = func(*inputs[0], **inputs[1])
        found = tree_map(lambda x: _left(x) if isinstance(x, FunctionalTensor) else x, found)
        for x, wrapped in made.values():
            if wrapped._memory.changed:
                left = _left(wrapped)
                (x if x.shape == left.shape else x.resize_(left.shape)).copy_(left)
        return found

    return run


def _entered(x: Any, mode: Any) -> Any:
    """A tensor as a functional one; its history goes on."""
    if x.requires_grad and _core.is_grad_enabled():
        return _functions()[0]._apply_directly(x, mode)
    return FunctionalTensor(x, mode)


def _left(x: Any) -> Any:
    """The value of a functional tensor, with its history."""
    x._sync()
    return _functions()[1]._apply_directly(x) if x.requires_grad and _core.is_grad_enabled() else x._value


@lru_cache(maxsize=1)
def _functions() -> Any:
    from shim_torch.autograd import Function

    class Enter(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, mode: Any) -> Any:
            return FunctionalTensor(x.detach(), mode)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return value_of(g), None

    class Leave(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x._value.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    return Enter, Leave
