"""Launches of Triton kernels without Triton's Python, by ``native``'s dispatcher, for Triton 3.4-3.9.

``kernel[grid](...)`` of a kernel that was compiled for such arguments goes straight to the driver. Everything else is stock
Triton's: the first call for each kind of arguments, hooks, descriptors, tuples, cooperative launches, clusters, scratch memory.
``SHIM_TRITON_FAST=0`` leaves all launches to stock Triton; ``launches()`` counts both.
"""

from __future__ import annotations

import os
import sys
from typing import Any

FIRST, LAST = (3, 4), (3, 9)

# What a setting in the process itself would change at a launch; in the environment they are read when a kernel is compiled.
RUNTIME = ("launch_enter_hook", "launch_exit_hook", "debug", "add_stages_inspection_hook")
COMPILATION = ("instrumentation_mode", "fpsan_homomorphic_casts")


def serves(version: str) -> bool:
    """Whether launches of this Triton are served here."""
    if os.environ.get("SHIM_TRITON_FAST") == "0":
        return False
    return FIRST <= tuple(int(part) for part in version.split(".")[:2]) <= LAST


def install() -> None:
    """Once Triton's own driver is made, of a Triton that is served."""
    from triton import knobs
    from triton.runtime import driver, jit

    from shim_torch._impl.native import _core
    from shim_torch_proxy.adapters.triton import arrays

    if getattr(jit.JITFunction.run, "__module__", None) != jit.__name__:
        return  # this one's already, or another library's
    arrays.take_compiled(jit)
    stock = jit.JITFunction.run  # called for what is not served here, as arrays are not; it calls the dispatcher again
    hooks = (getattr(type(knobs.runtime), name, None) for name in ("launch_enter_hook", "launch_exit_hook"))
    lists = tuple(hook.calls for hook in hooks if hook is not None)
    active = "_active" if "_active" in vars(driver) else "active"
    getitem, run = _core.triton_dispatch(
        describe, stock, parameters, vars(knobs), driver, active, lists, RUNTIME, COMPILATION
    )
    jit.JITFunction.__getitem__ = getitem
    jit.JITFunction.run = run
    quick_host_functions(jit)


def parameters(fn: Any) -> list[tuple[str, bool, bool, Any]]:
    """name, whether it is a tl.constexpr, whether it has a default, the default; for each parameter of a kernel."""
    return [(p.name, bool(p.is_constexpr), p.has_default, p.default if p.has_default else None) for p in fn.params]


def describe(fn: Any, kernel: Any) -> Any:
    """What the dispatcher has to know to launch a compiled kernel; None where stock Triton is to go on launching it."""
    from triton.runtime import driver

    from shim_torch_proxy.adapters.triton.cuda_driver import slots_of

    if not hasattr(kernel, "metadata") or not hasattr(kernel, "function"):
        return None  # still being compiled
    metadata = kernel.metadata
    slots = slots_of(kernel.src.signature, metadata)
    if slots is None:
        return None
    places = {p.name: i for i, p in enumerate(fn.params)}
    launched = []
    writes, why_at_once = effects(kernel, len(slots))
    for (name, (slot, _)), written in zip(slots.items(), writes, strict=True):
        if name not in places:
            return None
        launched.append((places[name], slot, written))
    cache = fn.device_caches[driver.active.get_current_device()]
    # What is there now equals the copy that Triton keeps: it was launched just so.
    globals_used = tuple((name, where[name], where) for (name, _), (_, where) in fn.used_global_vals.items())
    threads = metadata.num_warps * 32
    active = vars(driver).get("_active", vars(driver).get("active"))
    name = getattr(metadata, "name", fn.__name__)
    code = kernel.function, threads, metadata.shared, name, why_at_once
    return kernel, code, tuple(launched), cache, cache[0], active, globals_used


def effects(kernel: Any, parameters: int) -> tuple[list[bool], str | None]:
    """For each parameter at run time whether the kernel may write there; why compiled functions launch it at once, or None."""
    from shim_torch_proxy.adapters.triton.effects import leaves_parameters, written_parameters

    ttir = kernel.asm.get("ttir")
    if not isinstance(ttir, str):
        return [True] * parameters, "a Triton kernel whose TTIR is not known"
    why = leaves_parameters(ttir)
    known = None if why else written_parameters(ttir)
    return (known if known and len(known) == parameters else [True] * parameters), why


def quick_host_functions(jit: Any) -> None:
    """``triton.cdiv`` and the like called with ints on the host: the function itself, without the wrapping for kernels."""
    kind = getattr(jit, "ConstexprFunction", None)
    if kind is None:
        return
    stock = kind.__call__

    def __call__(self: Any, *args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        if _semantic is None and not kwargs:
            for value in args:
                if type(value) is not int:
                    break
            else:
                return self.fn(*args)
        return stock(self, *args, _semantic=_semantic, **kwargs)

    kind.__call__ = __call__


def launches() -> dict[str, int]:
    """How many launches went through the dispatcher ("fast") and through stock Triton ("slow"), in this process."""
    if "shim_torch._impl.native._core" not in sys.modules:
        return {"fast": 0, "slow": 0}
    from shim_torch._impl.native import _core

    return dict(_core.triton_launches())
