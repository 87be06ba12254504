"""The old type names: ``torch.FloatTensor(2, 3)``, ``isinstance(t, torch.LongTensor)``, ``torch.FloatStorage``."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.native import _core

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

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        for base in bases:
            if isinstance(base, mcs):
                raise TypeError(f"type '{base}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, namespace)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, _core.TensorBase)
            and instance.dtype == cls.dtype
            and instance.device.type == cls._device
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from shim_torch._impl.tensor import constructor

        if cls.is_cuda and not _core.cuda_device_count():
            raise TypeError(f"type {cls} not available: {_core.cuda_why_not()}")
        return constructor.build(args, kwargs, cls.dtype, cls._device, typed=True)

    is_xpu = False

    @property
    def is_cuda(cls) -> bool:
        """Whether the type is one of torch.cuda."""
        return cls._device == "cuda"

    layout, is_sparse = _core.strided, False

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


@cache
def legacy_type(name: str, device_type: str) -> Any:
    """The class ``torch.FloatTensor`` (or ``torch.cuda.FloatTensor``); KeyError for an unknown name."""
    module = "torch.cuda" if device_type == "cuda" else "torch"
    return tensortype(name, (), {"__module__": module, "dtype": TENSORS[name], "_device": device_type})


@cache
def all_types() -> set[Any]:
    """Every class of the kind of ``torch.FloatTensor``."""
    return {legacy_type(name, device) for name in TENSORS for device in ("cpu", "cuda")}


def type_of(tensor: Any) -> str:
    """``tensor.type()``: ``"torch.FloatTensor"``, ``"torch.cuda.HalfTensor"``."""
    name = next((n for n, d in TENSORS.items() if d is tensor.dtype), None)
    if name is None:
        name = _core.scalar_name(tensor.dtype) + "Tensor"
    if tensor.layout != _core.strided:
        if not tensor.is_sparse:
            raise RuntimeError(f"Unimplemented backend SparseCsr{tensor.device.type.upper()}")
        name = f"sparse.{name}"
    return f"torch.{'' if tensor.device.type == 'cpu' else tensor.device.type + '.'}{name}"


def cast(tensor: Any, dtype: Any, non_blocking: bool = False) -> Any:
    """``tensor.type(dtype)``: a dtype, a typed constructor or its name.

    Errors: ValueError for a name that is no type, RuntimeError for what is no type at all.
    """
    if isinstance(dtype, _core.dtype):
        return tensor.to(dtype=dtype, non_blocking=non_blocking)
    if isinstance(dtype, str):
        module, _, name = dtype.rpartition(".")
        if tensor.layout != _core.strided:
            module = module.removesuffix(".sparse")
        if name not in TENSORS or module not in ("torch", "torch.cuda"):
            if name == "Tensor" and module == "torch":
                return tensor.to(dtype=_core.get_default_dtype(), device="cpu")
            raise ValueError(f"invalid type: '{dtype}'")
        device = "cuda" if module == "torch.cuda" else "cpu"
    elif isinstance(dtype, tensortype):
        name, device = dtype.__name__, "cuda" if dtype.is_cuda else "cpu"
    elif dtype is _core.Tensor:
        return tensor.to(dtype=_core.get_default_dtype(), device="cpu")
    elif isinstance(dtype, type):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    else:
        raise TypeError("dtype must be a type, str, or dtype object")
    return tensor.to(dtype=TENSORS[name], device=device, non_blocking=non_blocking)
