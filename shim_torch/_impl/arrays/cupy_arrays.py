"""CuPy behind the operator bodies on CUDA; imported when the first CUDA tensor is computed with."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from shim_torch._impl.arrays import counters
from shim_torch._impl.arrays import numpy_arrays as host
from shim_torch._impl.native import _core


class _Function:
    """A function of CuPy, its calls counted; a ufunc keeps its attributes (``add.at``)."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        counters["CuPy calls"] += 1
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


class _Counted:
    """CuPy's namespace with its function calls counted."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(cupy, name)
        if callable(value) and not isinstance(value, type):
            value = _Function(value)
        setattr(self, name, value)
        return value


_xp = _Counted()

# What CuPy has no dtype for is held as its bits, and computed with in the dtype after it.
_BITS = {_core.bfloat16: np.dtype(np.uint16), _core.complex32: np.dtype(np.uint32)}
_WIDER = {_core.bfloat16: _core.float32, _core.complex32: _core.complex64}


def xp() -> Any:
    """The namespace bodies compute with."""
    return _xp


def dtype_of(dtype: Any) -> Any:
    """CuPy's dtype for a torch dtype, the bits' dtype for bfloat16 and complex32."""
    if dtype in _BITS:
        return _BITS[dtype]
    found = host.dtype_of(dtype)
    if dtype.is_floating_point and dtype.itemsize == 1:
        raise NotImplementedError(f"operators on {dtype} are not supported on CUDA")
    return found


def torch_dtype(dtype: Any) -> Any:
    """The torch dtype for CuPy's."""
    return host.torch_dtype(dtype)


@lru_cache(None)
def _widen() -> Any:
    return cupy.ElementwiseKernel(
        "uint16 x", "float32 y", "y = __uint_as_float((unsigned int)x << 16)", "bf16_to_float"
    )


@lru_cache(None)
def _narrow() -> Any:
    code = """
    unsigned int u = __float_as_uint(x);
    y = isnan(x) ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
    """
    return cupy.ElementwiseKernel("float32 x", "uint16 y", code, "float_to_bf16")


def _values(bits: Any, dtype: Any) -> Any:
    """The numbers that bits of ``dtype`` stand for, in the dtype it is computed in."""
    if dtype is _core.bfloat16:
        return _widen()(bits)
    halves = cupy.ascontiguousarray(bits).reshape(-1).view(np.float16)
    return halves.astype(np.float32).view(np.complex64).reshape(bits.shape)


def _bits(array: Any, dtype: Any) -> Any:
    """The bits of numbers rounded to ``dtype``."""
    if dtype is _core.bfloat16:
        return _narrow()(array.astype(np.float32, copy=False))
    parts = cupy.ascontiguousarray(array.astype(np.complex64, copy=False)).reshape(-1).view(np.float32)
    return parts.astype(np.float16).view(np.uint32).reshape(array.shape)


def _raw(tensor: Any) -> Any:
    index = tensor.device.index or 0
    itemsize = tensor.dtype.itemsize
    extent = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) + 1 if tensor.numel() else 0
    memory = cupy.cuda.UnownedMemory(_core.memory_address(tensor), extent * itemsize, tensor, index)
    strides = tuple(s * itemsize for s in tensor.stride())
    return cupy.ndarray(tuple(tensor.shape), dtype_of(tensor.dtype), cupy.cuda.MemoryPointer(memory, 0), strides)


def asarray(tensor: Any, dtype: Any = None) -> Any:
    """An array over the tensor's memory; a cast copy where ``dtype`` is another one. CPU scalars are carried over."""
    if tensor.device.type == "cpu":
        if tensor.dtype is _core.complex32:
            tensor = _on_cpu(tensor, _core.complex64)
        return cupy.asarray(_core.to_numpy(tensor).astype(host.dtype_of(dtype or tensor.dtype)))
    array = _raw(tensor)
    if dtype is None or tensor.dtype is dtype:
        return array
    if tensor.dtype in _BITS:
        array = _values(array, tensor.dtype)
    return _bits(array, dtype) if dtype in _BITS else array.astype(dtype_of(dtype), copy=False)


def _on_cpu(tensor: Any, dtype: Any) -> Any:
    """A CPU tensor as another dtype: also of those that NumPy lacks."""
    made = _core.empty_raw(tuple(tensor.shape), dtype, _core.device("cpu"))
    _core.copy_raw(made, tensor)
    return made


def scalar(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d array."""
    return cupy.asarray(host.scalar(value, dtype))


def dummy(shape: Any, dtype: Any) -> Any:
    """Shapes are inferred with NumPy on every device."""
    return host.dummy(shape, dtype)


def lacks(error: Exception) -> bool:
    """Whether an error says that CuPy has no such function, dtype or option."""
    text = str(error)
    return "cupy" in text.lower() or "is not supported yet" in text or "not supported on CUDA" in text


def as_result(value: Any) -> Any:
    """What a body gave, as an array."""
    return cupy.asarray(value)


def wrap(array: Any, dtype: Any, inputs: Any = (), keep_strides: bool = False) -> Any:
    """A tensor of ``dtype`` over the array's memory; the array stays the owner of it."""
    if dtype in _BITS and array.dtype != _BITS[dtype]:
        array = _bits(array, dtype)
    else:
        array = array.astype(dtype_of(dtype), copy=False)
    if array.base is not None or any(array is i for i in inputs):
        array = cupy.array(array, order="K" if keep_strides else "C", copy=True)
    if not array.flags.c_contiguous and not (keep_strides and host._dense(array)):
        array = cupy.array(array, order="C", copy=True)
    itemsize = array.itemsize
    strides = tuple(n // itemsize for n in array.strides)
    device = _core.device("cuda", array.device.id)
    return _core.own_memory(_core.from_pointer(array.data.ptr, array, device, dtype, array.shape, strides))


def copy(to: Any, source: Any) -> None:
    """``to[...] = source`` where one of the two is on CUDA: broadcasts, casts and crosses devices."""
    if to.device.type == "cpu":
        if _core.complex32 in (to.dtype, source.dtype):
            values = asarray(source, _core.complex64)
            _core.copy_raw(to, _core.from_numpy(np.ascontiguousarray(cupy.asnumpy(values))))
            return
        bits = cupy.asnumpy(_raw(source))
        values = bits.view(host.dtype_of(source.dtype)) if source.dtype in _BITS else bits
        target = _core.to_numpy(to)
        target[...] = values.astype(target.dtype, copy=False)
        return
    if source.device.type == "cpu":
        # Cast on the host, where every dtype has one; the bits travel.
        if _core.complex32 in (to.dtype, source.dtype):
            array = cupy.asarray(_core.to_numpy(_on_cpu(source, _WIDER.get(to.dtype, to.dtype))))
            array = _bits(array, to.dtype) if to.dtype in _BITS else array
        else:
            values = np.ascontiguousarray(_core.to_numpy(source).astype(host.dtype_of(to.dtype), copy=False))
            array = cupy.asarray(values.view(np.uint16) if to.dtype in _BITS else values)
    else:
        array = asarray(source, to.dtype)
    with cupy.cuda.Device(to.device.index or 0):
        _raw(to)[...] = array
