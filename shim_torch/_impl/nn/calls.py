"""Operators as functions whose errors for wrong arguments name function and argument, as torch's do.

Also the ``__torch_function__`` check that functions of ``torch.nn.functional`` written in Python begin with: tensors
are passed on by position, the rest by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch


class _Operators:
    def __getattr__(self, name: str) -> Any:
        function = _core.function(f"aten::{name}", "torch._C._nn")
        setattr(self, name, function)
        return function


operators = _Operators()


def _aten(name: str) -> Any:
    return getattr(operators, name)


def _tuple(value: Any, n: int) -> Any:
    return (value,) * n if isinstance(value, int) else tuple(value)


_overridden = _core._has_torch_function_variadic
_overridden_one = _core._has_torch_function_unary


def _override(function: Callable[..., Any], by_place: int, *relevant: Any) -> Any:
    """The result of the ``__torch_function__`` of ``relevant`` for ``function``, called with the caller's locals."""
    caller = sys._getframe(1)
    code, values = caller.f_code, caller.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = [values[n] for n in names]
    named = dict(zip(names[by_place:], given[by_place:], strict=True))
    return _core._handle_torch_function(function, relevant, *given[:by_place], **named)


def expanded(input: Any, target: Any) -> tuple[Any, Any]:
    """The two in the shape that they meet in: a tensor of no dims then counts for the dtype, as PyTorch has it."""
    if input.dtype == target.dtype or input.dim() == target.dim():
        return input, target
    return tuple(torch.broadcast_tensors([input, target]))
