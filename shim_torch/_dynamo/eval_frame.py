"""``torch._dynamo.eval_frame``: compiled functions; there are none."""

from __future__ import annotations

from typing import Any

from shim_torch.compiler import disable

__all__ = ["disable", "innermost_fn", "is_dynamo_supported"]


def _optimized_module() -> Any:
    from shim_torch.nn import Module

    class OptimizedModule(Module):
        """The type of compiled modules; there are none."""

        def __init__(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError(
                "torch._dynamo.OptimizedModule is not supported by shim-torch: functions run as they are"
            )

    return OptimizedModule


def innermost_fn(fn: Any) -> Any:
    """The function itself."""
    return fn


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: no."""
    return False


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":
        made = globals()["OptimizedModule"] = _optimized_module()
        return made
    from shim_torch._missing import missing

    return missing("torch._dynamo.eval_frame", name)
