"""Python's symbols of the tensor: which operator each is, and its methods for the tensor's type."""

from __future__ import annotations

import operator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import RECORDS, Record

# Symbols that __torch_function__ sees themselves, by these names; the others it sees as the operator's method.
SEEN_AS_SYMBOLS = {
    f"__{s}__": f"__{s}__"
    for s in """floordiv rsub rfloordiv rmod rpow rmatmul invert and or xor lshift rshift rlshift rrshift
    iand ior ixor ilshift irshift""".split()
} | {"__rtruediv__": "__rdiv__", "__pow__": "pow", "__ipow__": "pow_"}

# With the tensor on the right: PyTorch swaps the operands only where their order says something, so that
# the result's strides follow the tensor; `1 / x` is the product of the reciprocal, rounded twice.
SWAPPED = ("sub", "pow", "floordiv", "mod", "matmul", "lshift", "rshift")
ON_THE_RIGHT = {"truediv": "mul"}


def symbols() -> dict[str, Record]:
    """Python's symbols (``"add"`` of +), and the operators that they are."""
    return {record.traits["symbol"]: record for record in RECORDS.values() if "symbol" in record.traits}


def install_symbols(tensor_type: Any) -> None:
    """Gives the tensor type ``+`` and the others: the symbol, the one for a tensor on its right, and the one in place."""

    def put(symbol: str, name: str, reflected: bool = False) -> None:
        if _core.operator_overloads(f"aten::{name}"):
            seen = SEEN_AS_SYMBOLS.get(symbol) or getattr(tensor_type, name, None)
            setattr(tensor_type, symbol, _core.symbol_method(symbol, f"aten::{name}", reflected, seen))

    for symbol, record in symbols().items():
        put(f"__{symbol}__", record.name)
        if hasattr(operator, f"i{symbol}"):  # not comparisons, nor symbols of one operand
            put(f"__r{symbol}__", ON_THE_RIGHT.get(symbol, record.name), reflected=symbol in SWAPPED)
            put(f"__i{symbol}__", f"{record.name}_")
