"""``torch.backends.python_native``: PyTorch's operators that Triton or CuTe DSL kernels replace. Nothing is replaced here.

Names of operators and dispatch keys can be disabled and asked for, as there; no override follows from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

available_dsls: list[str] = []
all_dsls: list[str] = []
_disabled: dict[str, set[str]] = {"operations": set(), "keys": set()}


def get_dsl_operations(dsl_name: str) -> list[str]:
    """The operators that ``dsl_name`` replaces: none."""
    return []


def disable_operations(*op_symbols: str) -> None:
    """Marks operations as disabled."""
    _disabled["operations"].update(op_symbols)


def enable_operations(*op_symbols: str) -> None:
    """Takes the mark from operations."""
    _disabled["operations"].difference_update(op_symbols)


def disable_dispatch_keys(*dispatch_keys: str) -> None:
    """Marks dispatch keys as disabled."""
    _disabled["keys"].update(dispatch_keys)


def enable_dispatch_keys(*dispatch_keys: str) -> None:
    """Takes the mark from dispatch keys."""
    _disabled["keys"].difference_update(dispatch_keys)


def is_operation_disabled(op_symbol: str) -> bool:
    """Whether an operation is marked as disabled."""
    return op_symbol in _disabled["operations"]


def is_dsl_disabled(dsl_name: str) -> bool:
    """False: no kernels in other languages are registered."""
    return False


@contextlib.contextmanager
def operations_disabled(*op_symbols: str) -> Iterator[None]:
    """``op_symbols`` are disabled within the block, and those that were before stay so."""
    new = set(op_symbols) - _disabled["operations"]
    disable_operations(*op_symbols)
    try:
        yield
    finally:
        enable_operations(*new)
