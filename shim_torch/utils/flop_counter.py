"""``torch.utils.flop_counter``: counting operations needs ``__torch_dispatch__``; formulas of libraries are noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["FlopCounterMode", "register_flop_formula"]
flop_registry: dict[Any, Any] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """A decorator: notes a formula for operators and gives it back."""

    def decorate(formula: Any) -> Any:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[target] = formula
        return formula

    return decorate


class FlopCounterMode:
    """Counts operations: entering it raises NotImplementedError."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Any:
        raise NotImplementedError("torch.utils.flop_counter.FlopCounterMode is not supported by shim-torch")

    def __exit__(self, *_: object) -> None:
        pass
