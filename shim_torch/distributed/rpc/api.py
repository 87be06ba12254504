"""``torch.distributed.rpc.api``: the decorator of functions that need ``init_rpc`` first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["_require_initialized"]


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: calling ``func`` before ``init_rpc``, which is always, raises RuntimeError."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")

    return wrapper
