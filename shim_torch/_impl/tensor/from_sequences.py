"""Tensors from Python's numbers and nested sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.arguments import as_dtype, type_name
from shim_torch._impl.tensor.from_memory import from_array, from_cuda, from_dlpack
from shim_torch._impl.tensor.type_info import iinfo

Tensor = _core.Tensor
_MAX_DIMS = 128


def _is_sequence(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return True
    return hasattr(type(data), "__getitem__") and not isinstance(data, (Tensor, np.generic, dict))


def _sizes(data: Any) -> list[int]:
    """The lengths of nested sequences, each taken from the first item of the one around it."""
    sizes: list[int] = []
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from None
    return sizes


def _number_dtype(kind: type) -> Any:
    """The dtype for a Python number of exactly this type; None for other types."""
    if kind is float:
        return _core.get_default_dtype()
    if kind is complex:
        return _core.get_default_dtype().to_complex()
    return _core.int64 if kind is int else _core.bool if kind is bool else None


def _inferred(data: Any) -> Any:
    """The common dtype of all numbers of ``data``."""
    known = _number_dtype(type(data))
    if known is not None:
        return known
    if isinstance(data, (np.ndarray, np.generic)):
        return _core.dtype_from_numpy(data.dtype)
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    for kind in (float, int, complex):
        if isinstance(data, kind):
            return _number_dtype(kind)
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    met = None
    kinds = {type(item) for item in data} if isinstance(data, (list, tuple)) else {type(None)}
    if kinds <= {bool, int, float, complex}:
        found = [_number_dtype(kind) for kind in kinds]
    else:
        found = []
        for i in range(len(data)):
            if data[i] is data:
                raise TypeError("new(): self-referential lists are incompatible")
            found.append(_inferred(data[i]))
    for kind in found:
        met = kind if met is None or met is kind else _core.promote_types(met, kind)
    return _core.get_default_dtype() if met is None else met


def _collect(data: Any, sizes: list[int], depth: int, unpack: Any, out: list[Any]) -> None:
    if depth == len(sizes):
        out.append(unpack(data))
        return
    try:
        items = data if isinstance(data, (list, tuple)) else list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(items) != sizes[depth]:
        raise ValueError(f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(items)})")
    for item in items:
        _collect(item, sizes, depth + 1, unpack, out)


# --- one number -----------------------------------------------------------------------------------------------------------------


def _as_double(value: Any) -> float:
    if isinstance(value, (float, int)):
        return float(value)
    if isinstance(value, (complex, str, bytes)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _as_complex(value: Any) -> complex:
    if isinstance(value, (complex, np.complexfloating)):
        return complex(value)
    return complex(value) if isinstance(value, Tensor) else complex(_as_double(value))


def _as_bool(value: Any) -> bool:
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return bool(value)
    return bool(value.__index__()) if hasattr(value, "__index__") else bool(_index(value))


def _index(value: Any) -> int:
    import operator

    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise
        name = "numpy." * isinstance(value, np.generic) + type(value).__name__
        raise TypeError(f"'{name}' object cannot be interpreted as an integer") from None


def _as_integer(dtype: Any) -> Any:
    """A converter to an integer dtype: truncates fractions; unsigned dtypes take negative numbers modulo 2**bits."""
    bits = iinfo(dtype)
    low, high, name = bits.min, bits.max, str(dtype).removeprefix("torch.")
    error = f"value cannot be converted to type {name} without overflow"

    def unpack(value: Any) -> int:
        if isinstance(value, float):  # NumPy's doubles too
            if not low <= value <= high:  # also where it is not a number
                raise RuntimeError(error)
            return int(value)
        value = _index(value)
        if low <= value <= high:
            return value
        if high == 2**64 - 1:
            raise OverflowError("can't convert negative int to unsigned" if value < 0 else "int too big to convert")
        if not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
        if low or not -high <= value < 0:
            raise RuntimeError(error)
        return value + high + 1

    return unpack


def _unpacker(dtype: Any) -> Any:
    if dtype.is_complex:
        return _as_complex
    if dtype.is_floating_point or dtype is _core.float4_e2m1fn_x2:
        return _as_double
    return _as_bool if dtype is _core.bool else _as_integer(dtype)


def _from_sequence(data: Any, dtype: Any, device: Any) -> Any:
    sizes = _sizes(data)
    if sizes and sizes[0] and isinstance(data, (list, tuple)) and isinstance(data[0], np.ndarray):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
            "single numpy.ndarray with numpy.array() before converting to a tensor."
        )
    target = dtype or _inferred(data)
    numbers: list[Any] = []
    if 0 not in sizes:
        _collect(data, sizes, 0, _unpacker(target), numbers)
    has_array = not (target.itemsize == 1 and target.is_floating_point) and target not in (
        _core.bfloat16,
        _core.complex32,
        _core.float4_e2m1fn_x2,
    )
    if not numbers:
        return _core.empty_tensor(tuple(sizes), target, device)
    kind = _core.numpy_dtype(target) if has_array else np.dtype("complex64" if target.is_complex else "float32")
    with np.errstate(over="ignore"):  # out of range becomes infinite, without a warning
        array = np.array(numbers, dtype=kind).reshape(sizes)
    return _core.clone_raw(_core.from_numpy(array)).to(device=device, dtype=target)


def _from_data(data: Any, dtype: Any, device: Any) -> Any:
    """A new tensor with the numbers of ``data``, by default of their common dtype."""
    dtype = as_dtype(dtype)
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(f"tensor(): argument 'dtype' must be torch.dtype, not {type_name(dtype)}")
    if isinstance(data, _core.UntypedStorage) or type(data).__name__ == "TypedStorage":
        from shim_torch._impl.tensor.untyped_storage import over_either

        typed = _core.int64 if isinstance(data, _core.UntypedStorage) else data.dtype  # bytes count as whole numbers
        return over_either(data, dtype or typed).to(device)  # memory is shared: no copy is made of a storage
    made = _core.tensor_from_numbers(data, dtype)
    if made is not None:
        return made if device.type == "cpu" else made.to(device)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, np.ndarray):
        return from_array(data, warn=False).to(device=device, dtype=dtype, copy=True)
    if hasattr(data, "__cuda_array_interface__") and not isinstance(data, Tensor):
        return from_cuda(data).to(device=device, dtype=dtype, copy=True)
    if hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple, np.generic)):
        return from_dlpack(data).to(device=device, dtype=dtype, copy=True)
    return _from_sequence(data, dtype, device)
