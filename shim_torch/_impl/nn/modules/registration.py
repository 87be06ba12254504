"""What may be registered with a module, and process-wide hooks that see every parameter, buffer and child module that is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.utils.handles import RemovableHandle
from shim_torch._utils import typename

tables: dict[str, OrderedDict[int, Callable[..., Any]]] = {k: OrderedDict() for k in ("parameter", "buffer", "module")}


def check_new(module: Any, kind: str, name: str, table: dict[str, Any] | None) -> None:
    """Refuses a name that a module's ``table`` of parameters, buffers or modules can't have."""
    if table is None:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if name not in table and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def check_buffer(value: Any, refusal: str, name: str) -> None:
    """TypeError for what is no buffer."""
    if value is not None and not isinstance(value, _core.Tensor) and not hasattr(type(value), "__torch_function__"):
        raise TypeError(refusal.format(typename(value), name))


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
