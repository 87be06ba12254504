"""Lists of tensors that an optimizer's formulas take for one tensor: each operation is one call of ``torch._foreach_*``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def _given(other: Any) -> Any:
    return other.tensors if isinstance(other, Together) else other


class Together:
    """Tensors that the same is done to, with the methods that the formulas of optimizers use."""

    __slots__ = ("tensors",)
    is_sparse = False

    def __init__(self, tensors: list[Any]) -> None:
        self.tensors = tensors

    def _new(self, name: str, *others: Any, **settings: Any) -> Together:
        import shim_torch

        return Together(list(getattr(shim_torch, f"_foreach_{name}")(self.tensors, *map(_given, others), **settings)))

    def _in_place(self, name: str, *others: Any, **settings: Any) -> Together:
        import shim_torch

        getattr(shim_torch, f"_foreach_{name}_")(self.tensors, *map(_given, others), **settings)
        return self

    def __float__(self) -> float:
        return float(self.tensors[0])

    def add(self, other: Any, alpha: Any = 1) -> Together:
        """``self + alpha * other`` of each pair, or of each tensor and a number."""
        return self._new("add", other, alpha=alpha) if isinstance(other, Together) else self._new("add", other * alpha)

    def add_(self, other: Any, alpha: Any = 1) -> Together:
        """``add`` in place."""
        return (
            self._in_place("add", other, alpha=alpha)
            if isinstance(other, Together)
            else self._in_place("add", other * alpha)
        )

    def mul(self, other: Any) -> Together:
        """The product of each pair, or of each tensor and a number."""
        return self._new("mul", other)

    def mul_(self, other: Any) -> Together:
        """``mul`` in place."""
        return self._in_place("mul", other)

    def div(self, other: Any) -> Together:
        """The quotient of each pair, or of each tensor and a number."""
        return self._new("div", other)

    def sqrt(self) -> Together:
        """The square root of each tensor's elements."""
        return self._new("sqrt")

    def abs(self) -> Together:
        """The magnitude of each tensor's elements."""
        return self._new("abs")

    def maximum(self, other: Together) -> Together:
        """The larger elements of each pair."""
        return self._new("maximum", other)

    def lerp_(self, end: Together, weight: float) -> Together:
        """``self + weight * (end - self)`` of each pair, in place."""
        return self._in_place("lerp", end, weight)

    def addcmul(self, a: Together, b: Together, value: float = 1) -> Together:
        """``self + value * a * b`` of each triple."""
        return self._new("addcmul", a, b, value=value)

    def addcmul_(self, a: Together, b: Together, value: float = 1) -> Together:
        """``addcmul`` in place."""
        return self._in_place("addcmul", a, b, value=value)

    def addcdiv_(self, a: Together, b: Together, value: float = 1) -> Together:
        """``self + value * a / b`` of each triple, in place."""
        return self._in_place("addcdiv", a, b, value=value)

    def copy_(self, source: Together) -> Together:
        """Copies each of ``source`` into its tensor."""
        return self._in_place("copy", source)

    def __neg__(self) -> Together:
        return self._new("neg")

    def __rtruediv__(self, number: float) -> Together:
        return self._new("reciprocal").mul_(number)

    __mul__ = __rmul__ = mul
    __truediv__ = div
    __imul__ = mul_


def plain(tensors: list[Any]) -> bool:
    """Whether these are dense CUDA tensors of one device and floating dtype, that lists may be made of."""
    first = tensors[0]
    return all(
        t.is_cuda
        and t.layout is _core.strided
        and t.dtype == first.dtype
        and t.device == first.device
        and t.dtype.is_floating_point
        and t.numel() > 0
        for t in tensors
    )


def update(optimizer: Any, moving: list[Any], group: dict[str, Any]) -> bool:
    """One step of an optimizer of ``Each`` for all of these parameters; False, with nothing done, where it must be one at a time."""
    if (
        group.get("capturable")
        or group.get("foreach") is False
        or len(moving) < 2
        or isinstance(group["lr"], _core.TensorBase)
    ):
        return False
    if not plain([*moving, *(p.grad for p in moving)]):
        return False
    states = [optimizer.state[p] for p in moving]
    for p, state in zip(moving, states, strict=True):
        if not state:
            optimizer._begin_state(p, state, group)
    names, counts = list(states[0]), [state["step"] for state in states]
    if any(list(state) != names for state in states) or any(c.is_cuda for c in counts):
        return False
    numbers = [name for name in names if not states[0][name].is_cuda and not states[0][name].dim()]
    if any(len({float(state[name]) for state in states}) > 1 for name in numbers):
        return False
    for count in counts:
        count += 1
    seen: dict[str, Any] = {name: Together([state[name] for state in states]) for name in names}
    grads = Together([p.grad for p in moving])
    optimizer._update(
        Together(moving), -grads if group["maximize"] else grads, seen, group, float(group["lr"]), float(counts[0])
    )
    return True
