"""How pointwise operators are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.table.record import op
from shim_torch._impl.table.refusals import Refusals, refusing
from shim_torch._impl.table.rules import int_to_float, same

Formula = Callable[..., Any]


def unary_op(
    name: str, body: Formula, grad: Formula | None, dtype: Any = int_to_float, refused: Refusals = (), **options: Any
) -> None:
    """Declares an operator of one operand, with its in-place and out= forms; ``refused``: as in table/refusals.py."""
    options.setdefault("inplace", "function")
    options.setdefault("out", True)
    options.setdefault("native", name)
    op(
        f"{name}(Tensor self) -> Tensor",
        shape=same,
        dtype=refusing(dtype, *refused),
        grad=None if grad is None else {"self": grad},
        **options,
    )(body)


def array_function(function: str) -> Formula:
    """The body that calls the array library's function of that name."""

    def body(xp, self):
        return getattr(xp, function)(self)

    return body
