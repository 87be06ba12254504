"""The old storage types: ``torch.FloatStorage`` and its like, each of one dtype on one device."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.storage_arguments import check_legacy, not_for_cuda
from shim_torch._impl.tensor.storage_warning import warn_others, warns

# The dtypes that have a storage class of their own, by that class's name.
DTYPES: dict[str, Any] = {
    "DoubleStorage": _core.float64,
    "FloatStorage": _core.float32,
    "HalfStorage": _core.float16,
    "LongStorage": _core.int64,
    "IntStorage": _core.int32,
    "ShortStorage": _core.int16,
    "CharStorage": _core.int8,
    "ByteStorage": _core.uint8,
    "BoolStorage": _core.bool,
    "BFloat16Storage": _core.bfloat16,
    "ComplexDoubleStorage": _core.complex128,
    "ComplexFloatStorage": _core.complex64,
}
# Those of quantized dtypes, on the CPU alone: elements are the whole numbers (WHOLE), without scale and zero point.
QUANTIZED: dict[str, Any] = {
    "QUInt8Storage": _core.quint8,
    "QInt8Storage": _core.qint8,
    "QInt32Storage": _core.qint32,
    "QUInt4x2Storage": _core.quint4x2,
    "QUInt2x4Storage": _core.quint2x4,
}
WHOLE = dict(zip(QUANTIZED.values(), (_core.uint8, _core.int8, _core.int32, _core.uint8, _core.uint8), strict=True))
NAMES = {dtype: name for name, dtype in (DTYPES | QUANTIZED).items()}


def elements_of(buffer: Any, dtype: Any, byte_order: str, count: int, offset: int) -> Any:
    """A tensor of a copy of a buffer's elements, which stand there in ``byte_order``: "native", "little" or "big"."""
    import numpy as np

    from shim_torch._impl.tensor.from_data import tensor
    from shim_torch._impl.tensor.from_memory import frombuffer

    if dtype.itemsize == 1 and dtype is not _core.bool:
        byte_order = "native"  # bytes have no order, and PyTorch looks at none
    if byte_order not in ("native", "little", "big"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    raw, size = memoryview(buffer).cast("B"), dtype.itemsize
    if offset < 0 or offset > len(raw):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(raw)}"  # PyTorch's order
        )
    if count < 0:
        if (len(raw) - offset) % size:
            raise ValueError(f"buffer size ({len(raw)}) must be a multiple of element size ({size})")
        count = (len(raw) - offset) // size
    if offset + count * size > len(raw):
        raise ValueError(
            f"buffer has only {len(raw) - offset} elements after offset {offset}, but specified a size of {count}"
        )
    elements: Any = np.frombuffer(raw, np.uint8, count * size, offset).reshape(count, size)
    if byte_order not in ("native", sys.byteorder):
        parts = 2 if dtype.is_complex else 1  # of a complex number, each part is turned round
        elements = elements.reshape(count, parts, size // parts)[:, :, ::-1]
    if dtype is _core.bool:
        elements = elements.reshape(-1) != 0
    return frombuffer(bytearray(elements.tobytes()), dtype=dtype) if count else tensor([], dtype=dtype)


class LegacyMeta(type):
    """``isinstance(storage, torch.FloatStorage)`` asks for the dtype."""

    _fixed_dtype: Any
    _device_type: str

    @property
    def dtype(cls) -> Any:
        """The dtype of the elements."""
        return cls._fixed_dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        if type(instance) not in (cls.__base__, cls):
            return False  # who asks this of something else uses no typed storage
        warn_others()
        return instance.dtype == cls._fixed_dtype and instance.device.type == cls._device_type


warns(LegacyMeta)


def legacy_class_of(base: Any, name: str, device_type: str) -> Any:
    """A child of ``base``, the TypedStorage, for one dtype on one device. KeyError for an unknown name."""
    dtype = (DTYPES if device_type == "cuda" else DTYPES | QUANTIZED)[name]

    def __new__(cls: Any, *args: Any, wrap_storage: Any = None, **others: Any) -> Any:
        check_legacy(cls, args, wrap_storage, others)
        device = device_type if wrap_storage is None else None
        return base(*args, wrap_storage=wrap_storage, dtype=dtype, device=device)

    def from_buffer(buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> Any:
        return base._new_of(elements_of(buffer, dtype, byte_order, count, offset))

    def from_file(filename: Any, shared: bool = False, size: int = 0) -> Any:
        storage = _core.UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return base(wrap_storage=storage, dtype=dtype)

    members = {"from_buffer": staticmethod(from_buffer), "from_file": staticmethod(from_file)}
    if device_type == "cuda":
        members |= {n: not_for_cuda(n) for n in ("from_buffer", "_new_with_weak_ptr", "_new_shared_filename")}
    made = LegacyMeta(
        name,
        (base,),
        {
            "__module__": "torch" if device_type == "cpu" else f"torch.{device_type}",
            "__new__": __new__,
            "_fixed_dtype": dtype,
            "_device_type": device_type,
            **members,
        },
    )
    return warns(made)
