"""``torch._dynamo.eval_frame``: what ``torch.compile`` gives: functions in a function, modules in a module."""

from __future__ import annotations

from typing import Any

from shim_torch.compiler import disable

__all__ = ["disable", "innermost_fn", "is_dynamo_supported"]


def innermost_fn(fn: Any) -> Any:
    """What ``disable`` was given, from what it gave."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: yes."""
    return True


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":
        from shim_torch._impl.nn.optimized_module import OptimizedModule

        globals()["OptimizedModule"] = OptimizedModule
        return OptimizedModule
    from shim_torch._impl.surface.missing import missing

    return missing("torch._dynamo.eval_frame", name)
