"""``torch.utils._python_dispatch``: tensors and modes with ``__torch_dispatch__``, which shim-torch has none of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_WHY = (
    "torch.utils._python_dispatch.TorchDispatchMode is not supported by shim-torch: operators don't dispatch below autograd to Python. "
    "torch.overrides.TorchFunctionMode sees every torch function"
)


class TorchDispatchMode:
    """A class to derive from; entering an instance raises NotImplementedError."""

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(_WHY)

    def __enter__(self) -> Any:
        raise NotImplementedError(_WHY)

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError(_WHY)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> None:
    return None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return []


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a dispatch mode is active: never."""
    return False


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    yield []


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor says what inner tensors it wraps (``__tensor_flatten__`` and ``__tensor_unflatten__``)."""
    from native import _core

    return (
        isinstance(t, _core.TensorBase)
        and type(t) is not _core.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    from native import _core

    return (
        issubclass(t, _core.TensorBase)
        and t is not _core.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A wrapper subclass over ``callback(name, inner)`` of each of its inner tensors."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result, or the argument it was written to where the operator's schema says so."""
    schema = func._schema
    names = [a.name for a in schema.arguments]
    for result, declared in zip(out if isinstance(out, tuple) else (out,), schema.returns, strict=False):
        alias = declared.alias_info
        if alias is None or not alias.is_write:
            continue
        for i, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.before_set == alias.before_set:
                written = args[i] if i < len(args) else (kwargs or {}).get(names[i])
                return written if not isinstance(out, tuple) else out
        return result
    return out
