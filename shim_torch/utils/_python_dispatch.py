"""``torch.utils._python_dispatch``: modes that see every operator below autograd, and helpers for such tensor classes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core


class TorchDispatchMode:
    """Sees every operator called within ``with``, below autograd: ``__torch_dispatch__(func, types, args, kwargs)``.

    Within its own handler a mode is off. ``func`` is an ``OpOverload``; what the handler returns is the operator's result.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _core._push_on_torch_dispatch_stack(self)
        return self

    def __exit__(self, *_: object) -> None:
        _core._pop_torch_dispatch_stack()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, to be entered."""
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of PyTorch's own (fake, proxy or functional tensors)."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether the compiler's own calls pass the mode by; False unless overridden."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every operator as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that are on, the innermost last."""
    return [_core._get_dispatch_stack_at(i) for i in range(_core._len_torch_dispatch_stack())]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _push_mode(mode: Any) -> None:
    _core._push_on_torch_dispatch_stack(mode)


def _pop_mode(k: Any = None) -> Any:
    return _core._pop_torch_dispatch_stack()


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Within it the innermost mode is off."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a dispatch mode is on."""
    return _core._len_torch_dispatch_stack() > 0


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within it no mode is on."""
    modes = [_pop_mode() for _ in range(_core._len_torch_dispatch_stack())]
    try:
        yield modes
    finally:
        for mode in reversed(modes):
            _push_mode(mode)


@contextlib.contextmanager
def _no_dispatch() -> Iterator[None]:
    """Within it neither modes nor classes see operators."""
    old = _core._set_torch_dispatch_disabled(True)
    try:
        yield
    finally:
        _core._set_torch_dispatch_disabled(old)


def _any_batched(args: Any, kwargs: Any) -> bool:
    """Whether tensors of a running ``vmap`` are among the arguments: its rules come before what modes are to see."""
    import sys

    batched = sys.modules.get("shim_torch._impl.transforms.batching.tensors")
    if batched is None or not batched.stack:
        return False
    from shim_torch.utils._pytree import tree_leaves

    return any(isinstance(x, batched.BatchedTensor) for x in tree_leaves((args, kwargs)))


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor says what inner tensors it wraps (``__tensor_flatten__`` and ``__tensor_unflatten__``)."""
    return (
        isinstance(t, _core.TensorBase)
        and type(t) is not _core.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether ``t`` is a tensor subclass with ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
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
