"""``torch.compiler``: nothing is compiled yet; functions run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._missing import asked_of as _asked_of


def is_compiling() -> bool:
    """Whether a graph is being traced: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def _identity(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    return fn if callable(fn) else lambda f: f


def compile(model: Any = None, **options: Any) -> Any:
    """``torch.compile``: gives the function back; without one, what takes a function and gives it back."""
    if model is not None and not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return _identity(model)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Marks a function as not to be compiled: gives it back."""
    return _identity(fn)


def allow_in_graph(fn: Any) -> Any:
    return fn


def assume_constant_result(fn: Any) -> Any:
    return fn


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda f: f


def nested_compile_region(fn: Any = None) -> Any:
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


def save_cache_artifacts() -> None:
    """What was compiled, for another process: nothing was."""
    return None


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """What another process compiled: nothing here reads it."""
    return None

__getattr__ = _asked_of(__name__)
