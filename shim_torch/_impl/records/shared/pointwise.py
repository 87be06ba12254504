"""How pointwise operators are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import Refusals, refusing
from shim_torch._impl.table.rules import broadcast, int_to_float, promote, same
from shim_torch._impl.tensor import from_data

Formula = Callable[..., Any]


def float_only(self: Any) -> Any:
    """The dtype rule of one operand alone: integers become the default floating dtype."""
    return int_to_float(self)


def binary_op(
    name: str,
    body: Formula,
    grad: dict[str, Formula] | None,
    dtype: Any = promote,
    refused: Refusals = (),
    **options: Any,
) -> None:
    """Declares an operator of two operands that broadcast, with its in-place and out= forms; ``refused``: as in table/refusals.py."""
    options.setdefault("inplace", True)
    options.setdefault("out", True)
    options.setdefault("native", name)
    signature = options.pop("signature", f"{name}.Tensor(Tensor self, Tensor other) -> Tensor")
    op(signature, shape=broadcast, dtype=refusing(dtype, *refused), grad=grad, **options)(body)


def with_numbers(name: str, first: str, second: str, words: tuple[str, str], **traits: Any) -> None:
    """Declares the overloads of an operator of torch.special that take a number for one of two tensors."""
    special: dict[str, Any] = {"out": True, "module": "special", "method": False, **traits}

    def numbered(a: Any, b: Any) -> Any:
        if not isinstance(a, _core.TensorBase):
            a = from_data.tensor(a, dtype=_core.result_type(b, a), device=b.device)
        if not isinstance(b, _core.TensorBase):
            b = from_data.tensor(b, dtype=_core.result_type(a, b), device=a.device)
        return getattr(aten, name)(a, b)

    composite(f"{name}.{words[0]}(Scalar {first}, Tensor {second}) -> Tensor", **special)(numbered)
    composite(f"{name}.{words[1]}(Tensor {first}, Scalar {second}) -> Tensor", **special)(numbered)


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
