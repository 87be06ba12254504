"""Parametrizations: not supported; only the questions that libraries ask."""

from __future__ import annotations

from typing import Any


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations: never, here."""
    return False


def register_parametrization(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("torch.nn.utils.parametrize.register_parametrization is not supported by shim-torch")
