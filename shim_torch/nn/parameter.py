"""``Parameter`` and ``Buffer``: tensors that a Module registers by itself."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from shim_torch._impl.native import _core

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
        data = _core.empty_tensor((0,)) if data is None else data
        plain = type(data) is Tensor or type(data) is Parameter
        return Tensor._make_subclass(cls, data, requires_grad) if plain else _marked(data, requires_grad)

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


def _marked(data: Any, requires_grad: bool) -> Any:
    """The tensor of a custom class as a parameter: detached, with its class and the mark ``_is_param``."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
            f"returns an instance of the same type, but return type {type(made).__name__} was found instead. To use the type "
            "as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    made._is_param = True
    return made


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
    """A tensor that gets its shape from ``materialize``; few operations work before."""

    data: Any
    cls_to_become: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives it a shape; values are uninitialised, device and dtype its own unless given."""
        requested = {"dtype": dtype, "device": device}
        options = {name: getattr(self.data, name) if value is None else value for name, value in requested.items()}
        self.data = _core.empty_tensor((shape,) if isinstance(shape, int) else tuple(shape), **options)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """RuntimeError: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
            "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
            "calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)  # type: ignore[attr-defined]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        accessor = type(func).__name__ == "method-wrapper"  # attributes: data and others
        if accessor or getattr(func, "__name__", None) in _BEFORE_SHAPE:
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )


# What a module does with its parameters when it is moved, cast or loaded.
_BEFORE_SHAPE = frozenset(
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda cpu to get_device "
    "_has_compatible_shallow_copy_type requires_grad_".split()
)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape comes with the first input."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Tensor._make_subclass(cls, _core.empty_tensor((0,), dtype=dtype, device=device), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc,valid-type]
    """A buffer whose shape comes with the first input."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        made = Tensor._make_subclass(cls, _core.empty_tensor((0,), dtype=dtype, device=device), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(param: Any) -> bool:
    """Whether ``param`` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


for _class in (Parameter, Buffer, UninitializedTensorMixin, UninitializedParameter, UninitializedBuffer):
    _class.__module__ = "torch.nn.parameter"
_core.set_parameter_type(Parameter)
