"""Hooks of optimizers: how they are added, and what they may change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from shim_torch._impl.nn.modules.hooks import RemovableHandle

TABLES = tuple(
    f"_optimizer_{name}_hooks"
    for name in (
        "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post",
    )
)  # fmt: skip


def registered(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool = False) -> Any:
    """Adds a hook behind the others, or before them with ``prepend``; gives the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def passed_through(hooks: OrderedDict[int, Callable[..., Any]], optimizer: Any, value: Any) -> Any:
    """``value``, or what the last of the hooks that gave something made of it."""
    for hook in hooks.values():
        changed = hook(optimizer, value)
        value = value if changed is None else changed
    return value
