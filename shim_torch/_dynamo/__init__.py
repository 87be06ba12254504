"""``torch._dynamo``: what libraries ask of the compiler, and the marks that they put on functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._dynamo import config
from shim_torch._impl.compile.explained import explain as _explain
from shim_torch._impl.compile.frontend import lookup_backend as lookup_backend
from shim_torch._impl.compile.frontend import register_backend as register_backend
from shim_torch._impl.native import _core
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
    "explain",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "register_backend",
    "reset",
]


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: yes."""
    return True


def is_inductor_supported() -> bool:
    """Whether PyTorch's code generator is there: no."""
    return False


def disallow_in_graph(fn: Any) -> Any:
    """``fn`` as ``torch.compiler.disable`` gives it; for a list or tuple, those of its items."""
    return [disallow_in_graph(f) for f in fn] if isinstance(fn, (list, tuple)) else disable(fn)


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """``explain(f)(*args)``: calls f once and says which operators ran, where graphs end, and why."""
    if extra_args or extra_kwargs:
        raise TypeError("torch._dynamo.explain(f, *args) is PyTorch's older form: call explain(f)(*args)")
    return _explain(f)


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
    """Ends the graph here: what is deferred runs."""
    _core.trace_break(msg or "torch._dynamo.graph_break()")


def mark_dynamic(
    t: Any, index: Any, *, hint_override: Any = None, min: Any = None, max: Any = None, specialize_on: Any = None
) -> None:
    """Marks a dim as varying: nothing is specialised on it."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """As ``mark_dynamic``."""


def reset_code_caches() -> None:
    """Forgets what compiled functions learned."""
    reset()


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
