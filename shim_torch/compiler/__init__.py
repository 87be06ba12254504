"""``torch.compiler``: nothing is compiled yet; functions run as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def is_compiling() -> bool:
    """Whether a graph is being traced: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def _identity(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    return fn if callable(fn) else lambda f: f


def compile(model: Any = None, **options: Any) -> Any:
    """``torch.compile``: gives a function back as it is, a module in an ``OptimizedModule``, whose ``_orig_mod`` it is.

    Without a function it gives what takes one. ``disable=True`` gives a module back as it is.
    """
    if model is None:
        return lambda fn: compile(fn, **options)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    from shim_torch.nn import Module

    if isinstance(model, Module) and not options.get("disable"):
        from shim_torch._dynamo import eval_frame

        wrapper: Any = eval_frame.OptimizedModule
        return model if isinstance(model, wrapper) else wrapper(model)
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """A function that calls ``fn`` and says that it is not to be compiled, as ``_torchdynamo_disable`` and its like.

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

    @functools.wraps(fn)
    def not_compiled(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    vars(not_compiled).update(
        _torchdynamo_disable=True,
        _torchdynamo_disable_msg=reason,
        _torchdynamo_disable_recursive=recursive,
        _torchdynamo_orig_callable=fn,
    )
    return not_compiled


def allow_in_graph(fn: Any) -> Any:
    """``fn`` itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """``fn`` itself."""
    return fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that gives its function back."""
    return lambda f: f


def nested_compile_region(fn: Any = None) -> Any:
    """``fn`` itself, or a decorator that gives its function back."""
    return _identity(fn)


def reset() -> None:
    """Clears compiler state: there is none."""


def cudagraph_mark_step_begin() -> None:
    """Marks an iteration for CUDA graphs made by the compiler: there are none."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The compiler backends: none."""
    return []


class set_stance:
    """Context manager of PyTorch that steers the compiler; without one it does nothing."""

    def __init__(self, stance: str = "default", **kwargs: Any) -> None:
        self.stance = stance

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        return None

    def __call__(self, fn: Any) -> Any:
        return fn


_backend: Any = "inductor"


def get_default_backend() -> Any:
    """The backend that ``set_default_backend`` was given; "inductor" at first. Nothing here compiles with it."""
    return _backend


def set_default_backend(backend: Any) -> None:
    """Keeps a backend's name or function as the default; None: "inductor" again."""
    global _backend
    _backend = "inductor" if backend is None else backend


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
