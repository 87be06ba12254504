"""The old type names: ``torch.FloatTensor(2, 3)``, ``isinstance(t, torch.LongTensor)``, ``torch.FloatStorage``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from native import _core

TENSORS: dict[str, Any] = {
    "FloatTensor": _core.float32,
    "DoubleTensor": _core.float64,
    "HalfTensor": _core.float16,
    "BFloat16Tensor": _core.bfloat16,
    "LongTensor": _core.int64,
    "IntTensor": _core.int32,
    "ShortTensor": _core.int16,
    "CharTensor": _core.int8,
    "ByteTensor": _core.uint8,
    "BoolTensor": _core.bool,
}


class tensortype(type):
    """The type of ``torch.FloatTensor`` and its like; their instances are the tensors of one dtype on one device."""

    dtype: Any
    _device: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, _core.TensorBase)
            and instance.dtype == cls.dtype
            and instance.device.type == cls._device
        )

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        return construct(cls.dtype, device or cls._device, args, f"torch.{cls.__name__}", cls._device)

    @property
    def is_cuda(cls) -> bool:
        return cls._device == "cuda"

    layout = _core.strided

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


def construct(dtype: Any, device: Any, args: tuple[Any, ...], name: str, device_type: str) -> Any:
    """What ``torch.FloatTensor(*args)`` gives: nothing, sizes, a sequence of values, a storage or a tensor."""
    from shim_torch import empty, tensor
    from shim_torch.storage import TypedStorage, over

    where = _core.device(device) if not isinstance(device, _core.device) else device
    if where.type != device_type:
        raise TypeError(
            f"legacy constructor expects device type: {device_type} but device type: {where.type} was passed"
        )
    if not args:
        return empty(0, dtype=dtype, device=where)
    if all(isinstance(a, int) for a in args):
        return empty(*args, dtype=dtype, device=where)
    if len(args) != 1:
        raise TypeError(
            f"{name} received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)})"
        )
    (value,) = args
    if isinstance(value, _core.Size):
        return empty(value, dtype=dtype, device=where)
    if isinstance(value, _core.TensorBase):
        if value.dtype != dtype:
            raise TypeError(
                f"expected {_type_name(dtype, device_type)} (got {_type_name(value.dtype, value.device.type)})"
            )
        return value.detach()
    if isinstance(value, (TypedStorage, _core.UntypedStorage)):
        if isinstance(value, TypedStorage) and value.dtype != dtype:
            raise RuntimeError(f"Expected a Storage of type {dtype} or an UntypedStorage, but got type {value.dtype}")
        return over(value.untyped() if isinstance(value, TypedStorage) else value, dtype)
    if isinstance(value, Sequence) or hasattr(value, "__array__"):
        return tensor(value, dtype=dtype, device=where)
    raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")


def _type_name(dtype: Any, device_type: str) -> str:
    found = next((n for n, d in TENSORS.items() if d == dtype), str(dtype))
    return f"torch.{'cuda.' if device_type == 'cuda' else ''}{found}"


@cache
def legacy_type(name: str, device_type: str) -> Any:
    """The class ``torch.FloatTensor`` (or ``torch.cuda.FloatTensor``); KeyError for an unknown name."""
    module = "torch.cuda" if device_type == "cuda" else "torch"
    return tensortype(name, (), {"__module__": module, "dtype": TENSORS[name], "_device": device_type})


@cache
def legacy_storage(name: str) -> Any:
    """The class ``torch.FloatStorage``; KeyError for an unknown name."""
    from shim_torch.storage import legacy_class

    return legacy_class(name)


def parse(name: str) -> tuple[Any, str] | None:
    """("torch.cuda.FloatTensor") -> (dtype, "cuda"); None when it names no tensor type (``Tensor.type``'s argument)."""
    module, _, leaf = name.rpartition(".")
    if module not in ("torch", "torch.cuda"):
        return None
    if leaf == "Tensor":
        return _core.get_default_dtype(), "cpu" if module == "torch" else "cuda"
    return (TENSORS[leaf], "cpu" if module == "torch" else "cuda") if leaf in TENSORS else None
