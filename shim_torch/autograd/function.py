"""``torch.autograd.Function``: operators with a gradient of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad

Tensor = _core.Tensor
_set, _get = _core._set_grad_enabled, _core.is_grad_enabled
_connect, _unpack = _core._connect_function, _core._unpack_saved


class FunctionCtx:
    """What forward leaves for backward; also the ``grad_fn`` of the function's results."""

    _to_save: tuple[Any, ...] = ()
    _saved: tuple[Any, ...] = ()
    _dirty: Any = None
    _non_differentiable: Any = None
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()
    metadata: dict[str, Any]

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for backward; changes to them in between are found out."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument 0 is of type {type(t).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """For forward-mode gradients, which shim-torch does not have: kept and not used."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Names inputs that forward changed in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Names outputs that carry no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are not there come as zeros (default) or None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept."""
        if self._saved:
            return tuple(_unpack(t) for t in self._saved)
        return self._to_save

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        return self.saved_tensors

    @property
    def materialize_grads(self) -> bool:
        return self._materialize

    def name(self) -> str:
        """The node's name."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[Any, ...]:
        return getattr(self, "_next", ())


class _HookMixin(FunctionCtx):
    """The backward class of one Function: its instances are the ctx objects."""

    _forward_cls: Any = None

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


def _tensors_require_grad(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, Tensor) and a.requires_grad for a in args)


class FunctionMeta(type):
    """Gives every Function class the class of its ctx objects, named <Function>Backward."""

    def __init__(cls, name: str, bases: Any, attrs: dict[str, Any]) -> None:
        cls._backward_cls = type(name + "Backward", (_HookMixin,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)


class Function(metaclass=FunctionMeta):
    """Subclasses give static methods forward(ctx, ...) and backward(ctx, *grads); use them through ``apply``."""

    _backward_cls: Any
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

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and, where an input wants a gradient, records the function."""
        ctx = cls._backward_cls()
        ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        record = True in ctx.needs_input_grad and _get()
        separate = cls.setup_context is not Function.setup_context
        old = _get()
        _set(False)
        try:
            if separate:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        finally:
            _set(old)
        if not record:
            if ctx._dirty:
                for t in ctx._dirty:
                    _core.bump_version(t)
            return output
        single = not isinstance(output, tuple)
        outputs = (output,) if single else output
        backward = cls.backward if cls.backward is not Function.backward else cls.vjp
        results = _connect(
            ctx,
            backward,
            cls._backward_cls.__name__,
            args,
            outputs,
            ctx._dirty,
            ctx._non_differentiable,
            ctx._materialize,
            ctx._to_save,
        )
        ctx._to_save = ()
        return results[0] if single else results


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward that can't be differentiated again: doing so is an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not _get() or not _tensors_require_grad(args):
            return outputs
        single = not isinstance(outputs, tuple)
        values = (outputs,) if single else outputs
        error = _DelayedError.apply(
            *(v for v in values if isinstance(v, Tensor)), *(a for a in args if isinstance(a, Tensor))
        )
        error = error if isinstance(error, tuple) else (error,)
        errors = iter(error)
        result = tuple(next(errors) if isinstance(v, Tensor) else v for v in values)
        return result[0] if single else result

    return wrapper


class _DelayedError(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        return tuple(a.detach() for a in args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class InplaceFunction(Function):
    """A Function with an in-place form (older interface)."""


class NestedIOFunction(Function):
    """Older interface of nested inputs: not supported."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("torch.autograd.function.NestedIOFunction is not supported by shim-torch")


BackwardCFunction = _HookMixin
for _class in (FunctionCtx, Function, FunctionMeta, InplaceFunction, NestedIOFunction):
    _class.__module__ = "torch.autograd.function"
