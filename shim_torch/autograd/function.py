"""``torch.autograd.Function``: operators with a gradient of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch.autograd.grad_mode import no_grad as _no_grad

Tensor = _core.Tensor
_get = _core.is_grad_enabled


class FunctionCtx:
    """What forward leaves for backward."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for backward; changes to them in between are found out. Once, from within forward."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors for ``jvp``."""
        for tensor in tensors:
            assert isinstance(tensor, Tensor) or tensor is None, (
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Names inputs that forward changed in place."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """No longer needed: storage shared between inputs and outputs is seen."""
        import warnings

        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
            "`set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Names outputs that carry no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are not there come as zeros (default) or None."""
        self.materialize_grads = value


class _HookMixin:
    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Any) -> Any:
        from collections import OrderedDict

        from shim_torch.utils.hooks import RemovableHandle

        backward_hooks = OrderedDict() if backward_hooks is None else backward_hooks
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle


class BackwardCFunction(_core._FunctionBase, FunctionCtx, _HookMixin):
    """The class of ctx objects, which are also the ``grad_fn`` of a Function's results."""

    _forward_cls: Any = None

    def apply(self, *args: Any) -> Any:
        """Runs the Function's backward with these gradients."""
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return (vjp if vjp is not Function.vjp else backward)(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Runs the Function's jvp with these tangents."""
        return self._forward_cls.jvp(self, *args)


def _bind_arguments(cls: Any, separate: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All of forward's arguments by position, defaults filled in; without the ctx, where forward takes one."""
    if not separate:
        import inspect

        bound = inspect.signature(cls.forward).bind(None, *args, **kwargs)
        bound.apply_defaults()
        return bound.args[1:]
    code = getattr(cls.forward, "__code__", None)
    if code is not None and not kwargs and code.co_argcount == len(args) and not code.co_kwonlyargcount:
        return args
    import inspect

    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _tensors_require_grad(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, Tensor) and a.requires_grad for a in args)


class FunctionMeta(type):
    """Gives every Function class the class of its ctx objects, named <Function>Backward."""

    def __init__(cls, name: str, bases: Any, attrs: dict[str, Any]) -> None:
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(_core._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """``forward``, ``setup_context``, ``backward`` and ``jvp`` of a Function, to be overridden."""

    _backward_cls: Any

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fills ctx when ``forward`` takes none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of the inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )


class Function(_SingleLevelFunction):
    """Subclasses give static methods forward(ctx, ...) and backward(ctx, *grads); use them through ``apply``.

    With ``setup_context(ctx, inputs, output)`` defined, forward takes no ctx.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future version "
            "of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The batched form, for torch.func.vmap."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward that can't be differentiated again: doing so is an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with _no_grad():
            outputs = fn(ctx, *args)
        if not _get() or not _tensors_require_grad(args):
            return outputs
        single = not isinstance(outputs, tuple)
        error = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            1 if single else len(outputs),
        )
        values = (outputs,) if single else outputs
        result = error(*(v.detach().requires_grad_() if isinstance(v, Tensor) else v for v in values))
        return result

    return wrapper


class Error(Function):
    """The inputs, detached; raises RuntimeError with ``message`` in backward."""

    @staticmethod
    def forward(ctx: Any, message: str, *args: Any) -> Any:
        """The inputs without their history."""
        ctx.message = message
        result = tuple(a.detach() if isinstance(a, Tensor) else a for a in args)
        return result[0] if len(result) == 1 else result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Raises RuntimeError with the message given to forward."""
        raise RuntimeError(ctx.message)


Error._backward_cls.__name__ = "Error"  # PyTorch's is written in C++, and has no "Backward" in its name


class DelayedError:
    """A function that gives its inputs back, and an error when their gradient is asked for (torch._C._functions)."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message

    def __call__(self, *args: Any) -> Any:
        given = [_torch.zeros(()) if a is None else a for a in args]  # None is an input too: one that has no history
        results = Error.apply(self.message, *given)
        if len(args) == 1:
            return None if args[0] is None else results
        return tuple(None if a is None else r for a, r in zip(args, results, strict=True))


class InplaceFunction(Function):
    """A Function with an in-place form (older interface)."""


class NestedIOFunction(Function):
    """Older interface of nested inputs: not supported."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: nested inputs and outputs are not flattened."""
        raise NotImplementedError("torch.autograd.function.NestedIOFunction is not supported by shim-torch")


for _class in (
    FunctionCtx,
    BackwardCFunction,
    _SingleLevelFunction,
    Function,
    FunctionMeta,
    InplaceFunction,
    NestedIOFunction,
):
    _class.__module__ = "torch.autograd.function"


def _nested_map(
    condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None
) -> Callable[[Any], Any]:
    """A function that puts ``fn(x)`` for every ``x`` of nested lists, tuples and dicts that ``condition`` accepts."""

    def mapped(obj: Any) -> Any:
        if condition(obj):
            return fn(obj)
        match obj:
            case None:
                return None
            case dict():
                return dict(zip(obj, map(mapped, obj.values()), strict=True))
            case tuple() | list():
                rebuilt = getattr(obj, "_make", type(obj))  # a named tuple's own maker
                return rebuilt(map(mapped, obj))
        from shim_torch._utils import typename

        accepted = "" if not condition_msg else f". Accepted types: {condition_msg}, or lists/tuples of them"
        raise ValueError(f"Auto nesting doesn't know how to process an input object of type {typename(obj)}{accepted}")

    return mapped
