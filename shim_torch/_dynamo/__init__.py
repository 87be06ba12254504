"""``torch._dynamo``: the marks that libraries put on functions; there is no tracer, so they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._dynamo import config
from shim_torch.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "reset",
]


def is_dynamo_supported() -> bool:
    """Whether functions can be traced: no."""
    return False


def is_inductor_supported() -> bool:
    """Whether traced functions can be compiled: no."""
    return False


def disallow_in_graph(fn: Any) -> Any:
    """``fn`` itself: no function is put into a graph."""
    return fn


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Marks a function whose operators alone are traced: it runs as it is. Errors: TypeError for what is no callable."""
    if not callable(traceable_fn):
        raise TypeError("nonstrict_trace expects a callable")
    return traceable_fn


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, dynamic: bool | None = None, disable: bool = False, **_: Any
) -> Callable[[Any], Any]:
    """The older form of ``torch.compile``: ``optimize(backend)(fn)``. ``nopython`` is its ``fullgraph``."""

    def decorate(fn: Any) -> Any:
        import shim_torch

        return shim_torch.compile(fn, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)

    return decorate


def graph_break(msg: str = "") -> None:
    """Ends a traced graph here: nothing is traced."""


def mark_dynamic(
    t: Any, index: Any, *, hint_override: Any = None, min: Any = None, max: Any = None, specialize_on: Any = None
) -> None:
    """Marks a dim as varying: nothing is specialised on it."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """As ``mark_dynamic``."""


def reset_code_caches() -> None:
    """Forgets compiled code, of which there is none."""


def mark_static(t: Any, index: Any = None) -> None:
    """Marks a dim as fixed."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Marks a tensor's address as fixed."""


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":
        from shim_torch._dynamo import eval_frame

        return eval_frame.OptimizedModule
    from shim_torch._impl.surface.missing import missing

    return missing("torch._dynamo", name)
