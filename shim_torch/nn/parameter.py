"""``Parameter`` and ``Buffer``: tensors that a Module registers by itself."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from native import _core

Tensor = _core.Tensor


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """A tensor with the mark ``_is_param`` is a parameter too (custom tensor subclasses)."""

    def __instancecheck__(self, instance: Any) -> bool:
        if self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter (torch.nn.Parameter). Operators on it give plain tensors.

    data: the tensor whose storage is used, default an empty one; requires_grad: default True.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = _core.empty_tensor((0,))
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        given = data.detach().requires_grad_(requires_grad)
        if type(given) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(given).__name__} was found instead."
            )
        given._is_param = True
        return given

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_is_param")}
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict(), state)

    __torch_function__ = _core._disabled_torch_function_impl


def _rebuild_parameter(data: Any, requires_grad: bool, hooks: Any, state: dict[str, Any] | None = None) -> Parameter:
    result = Parameter(data, requires_grad)
    for name, value in (state or {}).items():
        setattr(result, name, value)
    return result


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(self, instance: Any) -> bool:
        if self is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it is assigned (torch.nn.Buffer)."""

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = _core.empty_tensor((0,))
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result

    __torch_function__ = _core._disabled_torch_function_impl


class UninitializedTensorMixin:
    """Of lazy modules; not supported."""


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape comes with the first input."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("torch.nn.UninitializedParameter: lazy modules are not supported by shim-torch")


def is_lazy(param: Any) -> bool:
    """Whether ``param`` is uninitialized; never, here."""
    return isinstance(param, UninitializedTensorMixin)


Parameter.__module__ = Buffer.__module__ = "torch.nn.parameter"
_core.set_parameter_type(Parameter)
