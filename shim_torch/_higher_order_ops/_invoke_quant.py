"""``torch._higher_order_ops.invoke_quant``: a function that a compiler would keep as one operator. It is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.library.higher_order import HigherOrderOperator


class _InvokeQuant(HigherOrderOperator):
    """``invoke_quant_packed(function, *operands, scheme=None)``."""

    def __init__(self) -> None:
        super().__init__("invoke_quant_packed")

    def __call__(
        self, subgraph: Callable[..., Any], *operands: Any, scheme: str | None = None, quant_options: Any = None
    ) -> Any:
        return subgraph(*operands)


invoke_quant_packed = _InvokeQuant()


@dataclass(frozen=True)
class InvokeQuant:
    """Called with a function and its arguments: calls the function. What ``scheme`` says is for compilers."""

    codegen_low_precision: bool = True

    def __call__(self, *args: Any, scheme: str | None = None, **kwargs: Any) -> Any:
        return args[0](*args[1:], **kwargs)
