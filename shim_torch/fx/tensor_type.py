"""``torch.fx.tensor_type``: types of tensors whose sizes may not be known."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of

__all__ = ["Dyn", "TensorType", "_DynType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors of these sizes, each a number, ``Dyn`` or a symbol: ``TensorType((1, 2, Dyn))``."""

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self.__args__) == list(other.__args__)

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        return TensorType(tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """What is not known; equal to itself only, consistent with all."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(_DynType)

    def __str__(self) -> str:
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether a value may be of both: equal but for what is not known."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn or _is_symbol(t1) or _is_symbol(t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        pairs = zip(t1.__args__, t2.__args__, strict=False)
        return len(t1.__args__) == len(t2.__args__) and all(is_consistent(a, b) for a, b in pairs)
    return False


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first says at least as much as the second, and nothing else."""
    if t1 == t2 or t2 == Dyn or _is_symbol(t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        pairs = zip(t1.__args__, t2.__args__, strict=False)
        return len(t1.__args__) == len(t2.__args__) and all(is_more_precise(a, b) for a, b in pairs)
    return False


def _is_symbol(t: Any) -> bool:
    """A variable of torch.fx.experimental.unification."""
    return type(t).__name__ == "Var"


__getattr__ = _asked_of(__name__)
