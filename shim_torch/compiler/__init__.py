"""``torch.compiler``: functions whose operators are recorded, deferred and run together (docs/compile.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.compile import calls, settings
from shim_torch._impl.compile.frontend import compile as compile
from shim_torch._impl.compile.frontend import list_backends as list_backends
from shim_torch._impl.compile.frontend import set_stance as set_stance
from shim_torch._impl.native import _core


def is_compiling() -> bool:
    """Whether a compiled function runs."""
    return bool(_core.trace_active())


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a graph is being exported: never."""
    return False


def _identity(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    return fn if callable(fn) else lambda f: f


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """A function that calls ``fn``, whose operators run as they are called within a compiled function too.

    ``_torchdynamo_disable`` and its like say so. (``recursive`` makes no difference: no operator below is deferred.)

    A module comes back in an ``OptimizedModule`` (recursive) and a class as it is, with its ``__call__`` so marked. Without
    ``fn`` it gives what takes one. AssertionError for what cannot be called.
    """
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason, wrapping=wrapping)
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    if not callable(fn):
        raise AssertionError("fn must be callable")
    if recursive and isinstance(fn, type):
        if "__call__" in vars(fn):
            fn.__call__ = disable(fn.__call__, reason=reason)  # type: ignore[method-assign]
        return fn
    from shim_torch.nn import Module

    if recursive and isinstance(fn, Module):
        from shim_torch._dynamo import eval_frame

        wrapper: Any = eval_frame.OptimizedModule
        module = wrapper(fn)
        vars(module)["_torchdynamo_orig_callable"] = fn.forward  # as an attribute it would be the inner module's
        return module
    if not wrapping:
        return fn

    not_compiled = calls.paused(fn)
    vars(not_compiled).update(
        _torchdynamo_disable=True,
        _torchdynamo_disable_msg=reason,
        _torchdynamo_disable_recursive=recursive,
        _torchdynamo_orig_callable=fn,
    )
    return not_compiled


def allow_in_graph(fn: Any) -> Any:
    """``fn`` itself, or each item of a list or tuple. Errors: AssertionError for what cannot be called."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Any) -> Any:
    """``fn`` itself."""
    return fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives its function back. Errors: TypeError for what are no functions."""
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)}")

    def decorate(f: Any) -> Any:
        if not callable(f):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(f)}")
        return f

    return decorate


def nested_compile_region(fn: Any = None) -> Any:
    """``fn`` itself, or a decorator that gives its function back."""
    return _identity(fn)


def reset() -> None:
    """Forgets what compiled functions learned of their operators."""
    calls.reset()


def cudagraph_mark_step_begin() -> None:
    """Marks an iteration for CUDA graphs made by the compiler: none wait for it, for what backward reads is not written over."""


def get_default_backend() -> Any:
    """The backend that ``set_default_backend`` was given; "inductor" at first."""
    return settings.default_backend


def set_default_backend(backend: Any) -> None:
    """Keeps a backend's name or function as the default; None: "inductor" again. Errors: TypeError for anything else."""
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    settings.default_backend = "inductor" if backend is None else backend


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors from one of NumPy's arrays, nested in tuples, lists and dicts as they may be.

    Arguments share their memory with the arrays; gradients do not pass (RuntimeError for a tensor that requires them).
    """
    from functools import wraps

    import numpy as np

    from shim_torch._impl.native import _core
    from shim_torch.utils._pytree import tree_map

    def to_array(x: Any) -> Any:
        return x.numpy() if isinstance(x, _core.TensorBase) else x

    def to_tensor(x: Any) -> Any:
        return (
            _core.from_numpy(np.array(x) if isinstance(x, np.generic) else x)
            if isinstance(x, (np.ndarray, np.generic))
            else x
        )

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return tree_map(to_tensor, fn(*tree_map(to_array, args), **tree_map(to_array, kwargs)))

    return wrapped


def skip_guard_on_globals_unsafe(guard_entries: Any) -> list[bool]:
    """For a compiler's ``guard_filter_fn``: which guards to keep, those that are of no global."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries: Any) -> list[bool]:
    """None of the guards."""
    return [False for _ in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
    """Those of tensors that are no parameters (or are, with ``keep_parameters``)."""
    from shim_torch.nn import Parameter

    return [
        entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(entry.value, Parameter))
        for entry in guard_entries
    ]


def save_cache_artifacts() -> None:
    """What was compiled, for another process: nothing was."""
    return None


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """What another process compiled: nothing here reads it."""
    return None
