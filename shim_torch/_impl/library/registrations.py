"""What programs registered with ``torch.library``, for the parts that run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core

VMAP_RULES: dict[str, Callable[..., Any]] = {}  # "ns::name" -> the rule of register_vmap
defined: set[tuple[str, str]] = set()  # (qualified name, overload) of the operators that libraries of Python defined
higher_order: dict[str, Any] = {}  # name -> HigherOrderOperator

Place = tuple[str, str, str]  # an operator's name, its overload, a dispatch key
kernels: dict[Place, list[Any]] = {}  # what stood there before all libraries, then theirs, the one that is called last


def withdraw(place: Place, fn: Any) -> None:
    """Takes a library's kernel away; libraries go in any order, and the kernel of one that is left is called again."""
    stack = kernels[place]
    index = next(i for i in range(len(stack) - 1, 0, -1) if stack[i] is fn)
    if index == len(stack) - 1:
        _core.implement(*place, stack[-2])
    del stack[index]
    if len(stack) == 1:
        del kernels[place]
