"""NumPy behind the operator bodies on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core

ALIGNMENT = 64

DTYPES: dict[Any, Any] = {
    _core.bool: np.dtype(np.bool_),
    _core.uint8: np.dtype(np.uint8),
    _core.int8: np.dtype(np.int8),
    _core.uint16: np.dtype(np.uint16),
    _core.int16: np.dtype(np.int16),
    _core.uint32: np.dtype(np.uint32),
    _core.int32: np.dtype(np.int32),
    _core.uint64: np.dtype(np.uint64),
    _core.int64: np.dtype(np.int64),
    _core.float16: np.dtype(np.float16),
    _core.float32: np.dtype(np.float32),
    _core.float64: np.dtype(np.float64),
    _core.complex64: np.dtype(np.complex64),
    _core.complex128: np.dtype(np.complex128),
}
_TORCH = {n: t for t, n in DTYPES.items()}
_NARROW = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()


def _with_narrow() -> None:
    """Adds the types of ml_dtypes to both tables: imported when first asked for, as it takes a while."""
    import ml_dtypes

    for name in _NARROW:
        torch_name, numpy_name = getattr(_core, name), np.dtype(getattr(ml_dtypes, name))
        DTYPES[torch_name], _TORCH[numpy_name] = numpy_name, torch_name


def torch_dtype(dtype: Any) -> Any:
    """The torch dtype for NumPy's; TypeError in PyTorch's words where there is none."""
    found = _TORCH.get(dtype)
    if found is None and _core.bfloat16 not in DTYPES:
        _with_narrow()
        found = _TORCH.get(dtype)
    if found is None:
        raise TypeError(f"can't convert np.ndarray of type {dtype}")
    return found


def xp() -> Any:
    """The namespace bodies compute with."""
    return np


def dtype_of(dtype: Any) -> Any:
    """NumPy's dtype for a torch dtype; NotImplementedError where there is none."""
    found = DTYPES.get(dtype)
    if found is None and _core.bfloat16 not in DTYPES:
        _with_narrow()
        found = DTYPES.get(dtype)
    if found is None:
        raise NotImplementedError(f"operators on {dtype} are not supported on the CPU")
    return found


def asarray(tensor: Any, dtype: Any = None) -> Any:
    """An array over the tensor's memory; a cast copy where ``dtype`` is another one, and of complex32, which NumPy lacks."""
    if tensor.dtype is _core.complex32:
        wide = _core.empty_raw(tuple(tensor.shape), _core.complex64, tensor.device)
        _core.copy_raw(wide, tensor)
        tensor = wide
    array = _core.to_numpy(tensor)
    if dtype is not None and tensor.dtype is not dtype:
        array = array.astype(dtype_of(dtype))
    return array


def scalar(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d array; integers out of range wrap, as PyTorch's do in tensor arithmetic."""
    wanted = dtype_of(dtype)
    try:
        return np.array(value, wanted)
    except OverflowError:
        return np.array(value & ((1 << (8 * wanted.itemsize)) - 1), np.uint64).astype(wanted)


def dummy(shape: Any, dtype: Any) -> Any:
    """An array of this shape without memory of its own, to infer shapes with."""
    return np.broadcast_to(np.zeros((), dtype_of(dtype)), tuple(shape))


def as_result(value: Any) -> Any:
    """What a body gave, as an array."""
    return np.asarray(value)


def wrap(array: Any, dtype: Any, inputs: Any = (), keep_strides: bool = False) -> Any:
    """A tensor of ``dtype`` over the array's memory: adopted when it is the array's own, aligned and in order."""
    if dtype is _core.complex32:
        wide = wrap(array, _core.complex64, inputs, keep_strides)
        made = _core.empty_raw(tuple(wide.shape), dtype, wide.device)
        _core.copy_raw(made, wide)  # NumPy has no such numbers
        return made
    if not array.size:  # NumPy's strides of nothing may be zeros
        return _core.empty_raw(tuple(array.shape), dtype, _core.device("cpu"))
    wanted = dtype_of(dtype)
    if array.dtype != wanted:
        array = array.astype(wanted)
    elif array.base is not None or any(array is i for i in inputs) or not array.flags.writeable:
        array = np.array(array, order="K" if keep_strides else "C")
    if not array.flags.c_contiguous and not (keep_strides and _dense(array)):
        array = np.ascontiguousarray(array)
    if array.ctypes.data % ALIGNMENT:
        return _core.clone_raw(_core.from_numpy(array))
    return _core.own_memory(_core.from_numpy(array))


def _dense(array: Any) -> bool:
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True
