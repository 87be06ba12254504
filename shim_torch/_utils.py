"""Small helpers of many modules."""

from __future__ import annotations

from typing import Any


def typename(o: Any) -> str:
    """``torch.typename``: an object's type as PyTorch's messages print it."""
    from native import _core

    if isinstance(o, _core.TensorBase):
        return (
            f"torch.{'cuda.' if o.is_cuda else ''}{_scalar(o.dtype)}Tensor"
            if type(o) is _core.Tensor
            else _class(type(o))
        )
    return _class(type(o))


def _class(cls: type) -> str:
    module = "" if cls.__module__ in ("builtins", "__builtin__") else cls.__module__ + "."
    return module + cls.__qualname__


_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def _scalar(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return _NAMES.get(name, name)
