"""``torch._export.wrappers``: marks for graphs that are traced before dispatch. There are none, so marked things stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def mark_subclass_constructor_exportable_experimental(constructor_subclass: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__init__`` of a tensor class itself; RuntimeError for anything else, as in PyTorch."""
    if not callable(constructor_subclass) or constructor_subclass.__name__ != "__init__":
        raise RuntimeError(
            f"torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on subclass tensor.__init__"
            f"But, you are adding it on {constructor_subclass.__name__} which is not supported. "
            f"If __init__ doesn't exist on your subclass, please add it. Look at DTensor.__init__ implementation for example"
        )
    return constructor_subclass


def allow_in_pre_dispatch_graph(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return func
