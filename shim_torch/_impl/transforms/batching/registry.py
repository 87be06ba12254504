"""The rules for batches by operator, and what they are given: a call over the batch of one level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, whole, wrapped

Tensor = _core.Tensor

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a function (call, args, kwargs) of a ``Call`` for operators of these names (one overload, or all)."""

    def decorate(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return decorate


class Call:
    """One operator over the batch of ``level``."""

    def __init__(self, func: Any, level: int, size: int) -> None:
        self.func, self.level, self.size = func, level, size

    def mine(self, x: Any) -> bool:
        """Whether it is a tensor of this level."""
        return isinstance(x, BatchedTensor) and x.level == self.level

    def whole(self, x: Any) -> Any:
        """A tensor's value over the batch."""
        return whole(x, self.level, self.size)

    def value(self, x: Any) -> Any:
        """A batched tensor's value; anything else as it is."""
        return x.value if self.mine(x) else x

    def shared(self, x: Any) -> Any:
        """A value that is the same for all items, which an expanded one is, as a tensor without the batch."""
        if self.mine(x) and self.size > 1 and not isinstance(x.value, BatchedTensor) and x.value.stride(0) == 0:
            return x.value.select(0, 0)
        return x

    def padded(self, x: Any, dims: int) -> Any:
        """A value whose dims after the batch are brought to ``dims`` by ones in front, to broadcast."""
        if not self.mine(x) or x.dim() >= dims:
            return self.value(x)
        return x.value.reshape(x.value.shape[:1] + (1,) * (dims - x.dim()) + x.value.shape[1:])


def tensors_in(args: Any, kwargs: Any) -> list[Any]:
    """The tensors among arguments, those in lists too."""
    found: list[Any] = []
    for a in (*args, *kwargs.values()):
        if isinstance(a, Tensor):
            found.append(a)
        elif isinstance(a, (list, tuple)):
            found.extend(x for x in a if isinstance(x, Tensor))
    return found


def wrap(call: Call, found: Any) -> Any:
    """Results over the batch of a call as batched tensors."""
    return wrapped(found, call.level)


def spread(call: Call, found: Any) -> Any:
    """One result for all items as a batched tensor: what came from the batch stays in it, so that gradients find back."""
    return wrap(call, found.expand((call.size, *found.shape)).clone(memory_format=_core.contiguous_format))
