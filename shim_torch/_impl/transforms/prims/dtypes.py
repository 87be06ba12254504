"""Kinds of dtypes and of Python's numbers, and which of two is the higher."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

_integer_dtypes = tuple(getattr(_core, n) for n in "uint8 uint16 uint32 uint64 int8 int16 int32 int64".split())
_low_precision_dtypes = (_core.float16, _core.bfloat16, _core.complex32)
_complex_dtypes = (_core.complex32, _core.complex64, _core.complex128)


def is_boolean_dtype(dtype: Any) -> bool:
    """Whether a dtype is bool."""
    return dtype is _core.bool


def is_integer_dtype(dtype: Any) -> bool:
    """Whether a dtype is one of integers, signed or not; bool is none."""
    return dtype in _integer_dtypes


def is_low_precision_dtype(dtype: Any) -> bool:
    """Whether a dtype is float16, bfloat16 or complex32."""
    return dtype in _low_precision_dtypes


def is_float_dtype(dtype: Any) -> bool:
    """Whether a dtype is a real floating point one."""
    return bool(dtype.is_floating_point)


def is_complex_dtype(dtype: Any) -> bool:
    """Whether a dtype is complex."""
    return dtype in _complex_dtypes


def dtype_to_type(dtype: Any) -> type:
    """bool, int, float or complex."""
    if dtype is _core.bool:
        return bool
    if is_integer_dtype(dtype):
        return int
    return complex if is_complex_dtype(dtype) else float


def type_to_dtype(typ: type) -> Any:
    """The dtype of Python's numbers."""
    if typ is bool:
        return _core.bool
    if typ is int:
        return _core.int64
    default = _core.get_default_dtype()
    if typ is float:
        return default
    if typ is complex:
        return corresponding_complex_dtype(default)
    raise ValueError(f"Invalid type {typ}!")


def number_type(x: Any) -> type:
    """bool, int, float or complex: the type of a number."""
    return next(t for t in (bool, int, float, complex) if isinstance(x, t))


def corresponding_real_dtype(dtype: Any) -> Any:
    """The dtype of the real part."""
    return dtype.to_real()


def corresponding_complex_dtype(dtype: Any) -> Any:
    """The complex dtype whose parts have this dtype."""
    return dtype.to_complex()


def get_computation_dtype(dtype: Any) -> Any:
    """float32 for float16 and bfloat16, otherwise the dtype itself."""
    special = {_core.float16: _core.float32, _core.bfloat16: _core.float32, _core.complex32: _core.complex64}
    return special.get(dtype, dtype)


def get_acc_type(dtype: Any, device: Any) -> Any:
    """What sums of that dtype are accumulated in."""
    return get_computation_dtype(dtype)


_ORDER = (bool, int, float, complex)


def get_higher_type(a: type, b: type) -> type:
    """The later of two types in the order bool, int, float, complex."""
    return _ORDER[max(_ORDER.index(a), _ORDER.index(b))]


def get_higher_dtype(a: Any, b: Any) -> Any:
    """The promoted dtype of two tensors, dtypes, numbers or None."""
    found = [x for x in (a, b) if x is not None]
    dtypes = [_dtype_of(x) for x in found]
    if not dtypes:
        return None
    return dtypes[0] if len(dtypes) == 1 else _core.promote_types(*dtypes)


def _dtype_of(x: Any) -> Any:
    if isinstance(x, _core.dtype):
        return x
    return x.dtype if isinstance(x, _core.Tensor) else type_to_dtype(number_type(x))


naming.present(globals(), "torch._prims_common")
