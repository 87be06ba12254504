"""Process-wide hooks that see every parameter, buffer and child module that is registered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.utils.handles import RemovableHandle

tables: dict[str, OrderedDict[int, Callable[..., Any]]] = {k: OrderedDict() for k in ("parameter", "buffer", "module")}


def seen(kind: str, module: Any, name: str, value: Any) -> Any:
    """The registered value after the hooks, each of which may replace it."""
    for hook in tables[kind].values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def _register(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(tables[kind])
    tables[kind][handle.id] = hook
    return handle


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, parameter)`` runs when a parameter is registered, and may give another one."""
    return _register("parameter", hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, buffer)`` runs when a buffer is registered, and may give another one."""
    return _register("buffer", hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, child)`` runs when a child module is registered, and may give another one."""
    return _register("module", hook)


naming.present(globals(), "torch.nn.modules.module")
