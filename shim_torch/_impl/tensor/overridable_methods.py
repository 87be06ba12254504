"""What the tensor type has in Python, made visible to ``__torch_function__``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

# Pickles of before name ``_rebuild`` and ``_rebuild_storage`` here; files of torch.save name ``_rebuild_from_type_v2``.


def prepare_subclass(tensor_type: Any) -> None:
    """A class with ``__torch_dispatch__`` and no ``__torch_function__`` of its own has the latter switched off."""

    def has(cls: Any, name: str) -> bool:
        return any(name in vars(base) for base in cls.__mro__ if base not in (tensor_type, _core.TensorBase))

    @classmethod  # type: ignore[misc]
    def __init_subclass__(cls: Any, **kwargs: Any) -> None:
        super(tensor_type, cls).__init_subclass__(**kwargs)
        if has(cls, "__torch_dispatch__") and not has(cls, "__torch_function__"):
            cls.__torch_function__ = _core._disabled_torch_function_impl

    tensor_type.__init_subclass__ = __init_subclass__


_NOT_OVERRIDABLE = frozenset(
    "__new__ __init__ __init_subclass__ __iter__ __hash__ __setstate__ __class_getitem__ backward".split()
)


class _Property:
    """A property of Tensor, written in Python, that ``__torch_function__`` sees as ``__get__`` and ``__set__``."""

    def __init__(self, name: str, original: property) -> None:
        self.__name__, self.__doc__, self._original = name, original.__doc__, original
        self.fget, self.fset = original.fget, original.fset
        original.fget.__name__ = name  # type: ignore[union-attr]  # programs that list overridable functions name properties by it

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        if obj is None:
            return self
        if _core._has_torch_function_unary(obj):
            return _core._handle_torch_function(self.__get__, (obj,), obj)
        return self._original.__get__(obj)

    def __set__(self, obj: Any, value: Any) -> None:
        if _core._has_torch_function_unary(obj):
            _core._handle_torch_function(self.__set__, (obj,), obj, value)
        else:
            self._original.__set__(obj, value)


def show_overrides(tensor_type: Any) -> None:
    """Makes what is written in Python visible to ``__torch_function__``."""
    function = type(show_overrides)
    for name, value in list(vars(tensor_type).items()):
        if isinstance(value, function) and name not in _NOT_OVERRIDABLE:
            value.__name__, value.__qualname__ = name, f"Tensor.{name}"
            setattr(tensor_type, name, _core.overridable(value))
        elif isinstance(value, property):
            setattr(tensor_type, name, _Property(name, value))
