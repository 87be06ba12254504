"""``j1``: the size of a dimension whose lengths vary, one symbol for each tensor of offsets."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from shim_torch._impl.tensor.symbols import SymInt
from shim_torch.utils.weak import WeakIdKeyDictionary

__all__ = ["NestedInt", "NestedIntNode", "get_tensor_symint"]

_COUNT = itertools.count(1)


class NestedInt(SymInt):
    """A size that differs from row to row: ``factor`` times the symbol ``j<number>``; it is known only to be at least two."""

    _number: int
    _factor: int

    def __new__(cls, number: Any, factor: int = 1) -> NestedInt:
        made = object.__new__(cls)
        made._number, made._factor = number, factor
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Among the sizes given to a function: it is nested tensors' then."""
        from shim_torch._impl.nested.base import Nested

        return Nested.__torch_function__(func, types, args, kwargs)

    def __repr__(self) -> str:
        return f"j{self._number}" if self._factor == 1 else f"{self._factor}*j{self._number}"

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash((NestedInt, self._number, self._factor))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NestedInt):
            return (self._number, self._factor) == (other._number, other._factor)
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _least(self, other: Any, name: str) -> bool:
        """Whether the size is at least ``other``; ValueError where that cannot be known."""
        if isinstance(other, NestedInt):
            if self._number == other._number:
                return self._factor >= other._factor
        elif other <= 2:
            return True
        raise ValueError(f"{name}: Relation is indeterminate")

    def __ge__(self, other: Any) -> bool:
        return self._least(other, "ge")

    def __gt__(self, other: Any) -> bool:
        return self != other and self._least(other if isinstance(other, NestedInt) else other + 1, "gt")

    def __lt__(self, other: Any) -> bool:
        return not self._least(other, "lt")

    def __le__(self, other: Any) -> bool:
        return self == other or not self._least(other if isinstance(other, NestedInt) else other + 1, "le")

    def __mul__(self, other: Any) -> NestedInt:
        if isinstance(other, int) and not isinstance(other, bool):
            return NestedInt(self._number, self._factor * other)
        return NotImplemented

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return True

    def __deepcopy__(self, memo: Any) -> NestedInt:
        return self

    def is_nested_int(self) -> bool:
        """It is one."""
        return True

    def nested_int_coeff(self) -> int:
        """What multiplies the symbol."""
        return self._factor


class NestedIntNode:
    """What ``torch.SymInt`` makes a varying size of: the symbol's number and a factor."""

    def __init__(self, t_id: int, coeff: int) -> None:
        self.t_id, self.coeff = t_id, coeff

    def is_nested_int(self) -> bool:
        """It is."""
        return True

    def size(self) -> NestedInt:
        """The size."""
        return NestedInt(self.t_id, self.coeff)


class _Symbols:
    """The symbols of tensors of offsets, by the tensors themselves: giving one another's makes their rows the same."""

    def __init__(self) -> None:
        self._of: Any = WeakIdKeyDictionary()
        self._rows: dict[int, Any] = {}

    def __contains__(self, tensor: Any) -> bool:
        return tensor in self._of

    def __getitem__(self, tensor: Any) -> NestedInt:
        return NestedInt(self._of[tensor])

    def get(self, tensor: Any, default: Any = None) -> Any:
        return self[tensor] if tensor in self else default

    def __setitem__(self, tensor: Any, symbol: NestedInt) -> None:
        self._of[tensor] = symbol._number
        number = symbol._number
        self._rows.setdefault(number, weakref.ref(tensor, lambda _: self._rows.pop(number, None)))

    def rows_of(self, symbol: NestedInt) -> Any:
        """The tensor of a symbol; None where it is gone."""
        kept = self._rows.get(symbol._number)
        return None if kept is None else kept()


_tensor_symint_registry = _Symbols()


def get_tensor_symint(tensor: Any, *, coeff: int = 1) -> NestedInt:
    """The symbol of a tensor of offsets (or lengths): the same one each time for the same tensor."""
    if tensor not in _tensor_symint_registry:
        _tensor_symint_registry[tensor] = NestedInt(next(_COUNT))
    return _tensor_symint_registry[tensor] * coeff
