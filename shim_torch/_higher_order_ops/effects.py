"""``torch._higher_order_ops.effects``: operators with side effects keep their order: here everything runs in order."""

from __future__ import annotations

from enum import Enum
from typing import Any


class _EffectType(Enum):
    """Whether calls must keep their order."""

    ORDERED = "Ordered"


EffectType = _EffectType
_registered: dict[Any, Any] = {}


def _register_effectful_op(op: Any, effect: Any) -> Any:
    """Notes an operator's effect."""
    _registered[op] = effect

    class Handle:
        def destroy(self) -> None:
            _registered.pop(op, None)

    return Handle()


def has_effects(op: Any, *_: Any) -> bool:
    """Whether an effect was registered for the operator."""
    return op in _registered
