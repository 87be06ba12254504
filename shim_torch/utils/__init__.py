"""``torch.utils``; its sub-modules are imported when first asked for."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = frozenset(
    """_pytree _device _python_dispatch _triton backcompat benchmark bundled_inputs checkpoint collect_env cpp_extension data
    deterministic dlpack hooks model_zoo tensorboard throughput_benchmark weak""".split()
)


def set_module(obj: Any, mod: str) -> None:
    """Sets an object's ``__module__``."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Any, t2: Any) -> None:
    """Gives each of two tensor objects the other's class, attributes and tensor; who holds the object sees the new content.

    Errors: RuntimeError for tensors with weak references, with other slots, or held elsewhere (saved for a gradient).
    """
    import copyreg
    import weakref

    from shim_torch._impl.native import _core
    from shim_torch._impl.utils.swap import check_unused

    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = set(copyreg._slotnames(type(t1)))  # type: ignore[attr-defined]
    if slots != set(copyreg._slotnames(type(t2))):  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, t in (("t1", t1), ("t2", t2)):
        check_unused(t, name)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    absent = object()
    for slot in slots:
        values = getattr(t1, slot, absent), getattr(t2, slot, absent)
        for t, had, value in ((t1, values[0], values[1]), (t2, values[1], values[0])):
            if value is not absent:
                setattr(t, slot, value)
            elif had is not absent:
                delattr(t, slot)
    _core._swap_tensor_impl(t1, t2)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return importlib.import_module(f"shim_torch.utils.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"shim_torch.utils.{name}":
                raise
    if name == "cmake_prefix_path":
        from shim_torch._impl.extensions import cmake_package

        return cmake_package.prefix()
    from shim_torch._impl.surface.missing import missing

    return missing("torch.utils", name)
