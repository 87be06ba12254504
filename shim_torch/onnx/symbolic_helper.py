"""``torch.onnx.symbolic_helper``: the decorators of export functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Marks how an export function's arguments are read; the function itself comes back, as it is never called."""
    return lambda function: function
