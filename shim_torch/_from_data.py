"""Tensors from data: numbers, nested sequences, arrays, buffers, DLPack objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from native import _core
from shim_torch._arguments import as_dtype, need_dtype, type_name
from shim_torch._types import iinfo
from shim_torch._warnings import warn_once

Tensor = _core.Tensor
__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "tensor"]

_MAX_DIMS = 128
# Python's own types stand for dtypes, as in torch.tensor(1, dtype=float).


# --- nested sequences -----------------------------------------------------------------------------------------------------------


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
    """The dtype of Python numbers of this very type; None for other things."""
    if kind is float:
        return _core.get_default_dtype()
    if kind is complex:
        return _core.get_default_dtype().to_complex()
    return _core.int64 if kind is int else _core.bool if kind is bool else None


def _inferred(data: Any) -> Any:
    """The dtype in which all numbers of ``data`` meet."""
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
    """What makes the numbers of an integer dtype: fractions are cut off, unsigned dtypes take negative numbers modulo 2**bits."""
    bits = iinfo(dtype)
    low, high, name = bits.min, bits.max, str(dtype).removeprefix("torch.")
    error = f"value cannot be converted to type {name} without overflow"

    def unpack(value: Any) -> int:
        if type(value) is float:
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
    with np.errstate(over="ignore"):  # beyond the range is infinite, silently
        array = np.array(numbers, dtype=kind).reshape(sizes)
    return _core.clone_raw(_core.from_numpy(array)).to(device=device, dtype=target)


def _from_data(data: Any, dtype: Any, device: Any) -> Any:
    """A new tensor with the numbers of ``data``; of the dtype they meet in where ``dtype`` is None."""
    dtype = as_dtype(dtype)
    if dtype is not None and not isinstance(dtype, _core.dtype):
        raise TypeError(f"tensor(): argument 'dtype' must be torch.dtype, not {type_name(dtype)}")
    if isinstance(data, _core.UntypedStorage) or type(data).__name__ == "TypedStorage":
        from shim_torch._constructor import _over

        return _over(data, dtype or _core.get_default_dtype()).to(device, copy=True)
    made = _core.tensor_from_numbers(data, dtype)
    if made is not None:
        return made if device.type == "cpu" else made.to(device)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, np.ndarray):
        return _from_array(data, warn=False).to(device=device, dtype=dtype, copy=True)
    if hasattr(data, "__cuda_array_interface__") and not isinstance(data, Tensor):
        return _from_cuda(data).to(device=device, dtype=dtype, copy=True)
    if hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple, np.generic)):
        return from_dlpack(data).to(device=device, dtype=dtype, copy=True)
    if isinstance(data, _core.UntypedStorage):
        from shim_torch._untyped_storage import untyped_tensor

        return untyped_tensor(data).to(device=device, dtype=dtype or _core.int64, copy=True)
    return _from_sequence(data, dtype, device)


# --- memory of others -----------------------------------------------------------------------------------------------------------


def _from_array(array: Any, warn: bool = True) -> Any:
    """A tensor over an array's memory; warns of memory that must not be written."""
    return _core.from_numpy(array, warn)


def _from_cuda(obj: Any) -> Any:
    """A tensor over the memory of a ``__cuda_array_interface__`` object (CuPy, Numba, JAX)."""
    from shim_torch.cuda._streams import link_cupy

    link_cupy()
    cai = obj.__cuda_array_interface__
    dtype = np.dtype(cai["typestr"])
    name = getattr(getattr(obj, "dtype", None), "name", "")
    kind = _core.bfloat16 if name == "bfloat16" else _core.dtype_from_numpy(dtype)
    strides = cai.get("strides")
    steps = None if strides is None else tuple(s // kind.itemsize for s in strides)
    index = getattr(getattr(obj, "device", None), "id", None)
    device = _core.device("cuda", _core.cuda_current_device() if index is None else index)
    pointer = cai["data"][0]
    stream = cai.get("stream")
    if stream is not None and stream not in (0, 1) and stream != _core.cuda_current_stream(device.index):
        _core.cuda_stream_synchronize(stream)
    return _core.from_pointer(pointer or 0, obj, device, kind, tuple(cai["shape"]), steps)


def from_numpy(ndarray: Any) -> Any:
    """A tensor over an array's memory."""
    return _core.from_numpy(ndarray)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A 1-d tensor over a buffer's memory: ``count`` elements (all that are left if negative) from byte ``offset`` on.

    Errors: ValueError where the buffer does not hold them, RuntimeError where its memory is not contiguous.
    """
    need_dtype(dtype, "frombuffer", "dtype")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    size = dtype.itemsize
    total = view.nbytes
    if total == 0 or count == 0:
        raise ValueError(f"both buffer length ({total}) and count ({count}) must not be 0")
    if not 0 <= offset < total:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({total} bytes) minus 1"
        )
    if count < 0:
        if (total - offset) % size:
            raise ValueError(
                f"buffer length ({total - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
            )
        count = (total - offset) // size
    elif offset + count * size > total:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
            f"buffer length ({total} bytes)"
        )
    if view.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to "
            "the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of "
            "this program."
        )
    raw = np.frombuffer(view, dtype=np.uint8)[offset : offset + count * size]
    made = _core.view_dtype(_from_array(raw, warn=False), dtype)
    return _requiring(made, requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of a DLPack object or capsule."""
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        if ext_tensor.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        held = ext_tensor._neg_view().detach() if ext_tensor.is_neg() else ext_tensor  # as memory holds it
        return held.view(held.shape) if not copy else held.clone()
    if not hasattr(ext_tensor, "__dlpack__"):
        made = _core.from_dlpack_capsule(ext_tensor)
        return made.clone() if copy else made
    kind, index = ext_tensor.__dlpack_device__()
    kwargs: dict[str, Any] = {"max_version": (1, 0)}
    if int(kind) == 2:
        from shim_torch.cuda._streams import raw_stream

        pointer = raw_stream(index)
        kwargs["stream"] = pointer if pointer else 1
    try:
        capsule = ext_tensor.__dlpack__(**kwargs)
    except TypeError:  # a producer older than DLPack 1.0
        kwargs.pop("max_version")
        capsule = ext_tensor.__dlpack__(**kwargs)
    made = _core.from_dlpack_capsule(capsule)
    if device is not None:
        made = made.to(device)
    return made.clone() if copy else made


# --- the functions of torch -----------------------------------------------------------------------------------------------------


def _device(device: Any) -> Any:
    if device is None:
        return _core._default_device()  # None where none was set: tensors and arrays stay where they are
    return device if isinstance(device, _core.device) else _core.device(device)


def _requiring(made: Any, requires_grad: bool) -> Any:
    if not requires_grad:
        return made
    if not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_()


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    names: Any = None,
) -> Any:
    """A new tensor with a copy of ``data`` (numbers, nested sequences, arrays)."""
    device = _device(device)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        made = data.detach().clone().to(device=device, dtype=as_dtype(dtype))
    elif _core._len_torch_dispatch_stack():
        made = _shown_to_modes(_from_data(data, dtype, _core.device("cpu")), device)
    else:
        made = _from_data(data, dtype, device or _core.device("cpu"))
    if pin_memory:
        made = made.pin_memory()
    return _requiring(made, requires_grad)


def _shown_to_modes(made: Any, device: Any) -> Any:
    """What dispatch modes make of new data: a tensor on the CPU is lifted, then moved."""
    from shim_torch._ops import ops

    aten: Any = ops.aten
    lifted = aten.lift_fresh.default(made)
    return lifted if device is None or device.type == "cpu" else lifted.to(device)


def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """``data`` as a tensor, sharing memory where it can (tensors, NumPy and CuPy arrays, DLPack)."""
    device, dtype = _device(device), as_dtype(dtype)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        return _from_array(data).to(device=device, dtype=dtype)
    if hasattr(data, "__cuda_array_interface__"):
        return _from_cuda(data).to(device=device, dtype=dtype)
    if hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple, np.generic)):
        return from_dlpack(data).to(device=device, dtype=dtype)
    if _core._len_torch_dispatch_stack():
        return _shown_to_modes(_from_data(data, dtype, _core.device("cpu")), device)
    return _from_data(data, dtype, device or _core.device("cpu"))


def _shared(obj: Any, dtype: Any, copy: bool | None) -> Any:
    """``obj`` as a tensor over its own memory; None where it has none that a tensor could stand over."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        return _core.from_numpy(np.asarray(obj))
    if isinstance(obj, np.ndarray):
        return _from_array(obj, warn=not copy)
    if isinstance(obj, (list, tuple, int, float, complex)):
        return None
    if hasattr(obj, "__cuda_array_interface__"):
        return _from_cuda(obj)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if type(obj).__name__ == "PyCapsule":
        return _core.from_dlpack_capsule(obj)
    if isinstance(obj, _core.UntypedStorage):
        from shim_torch._untyped_storage import untyped_tensor

        return untyped_tensor(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or _core.get_default_dtype())


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Any:
    """``obj`` as a tensor that shares its memory where it can.

    ``copy`` True: always a copy; False: never one, ValueError where it would take one; None: where dtype or device
    differ. ``requires_grad`` False detaches, True keeps history or makes a leaf that requires gradients.
    """
    dtype = as_dtype(dtype)
    given = _device(device)
    made = _shared(obj, dtype, copy)
    if made is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _requiring(_from_data(obj, dtype, given or _core.device("cpu")), bool(requires_grad))
    if requires_grad is None:
        requires_grad = made.requires_grad
        if requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning."
            )
    wrong_device = (
        given is not None and given != made.device and (given.type != made.device.type or given.index is not None)
    )
    wrong_dtype = dtype is not None and dtype != made.dtype
    if copy or (copy is None and (wrong_device or wrong_dtype)):
        made = made.to(device=given, dtype=dtype, copy=bool(copy))
    elif wrong_device:
        raise ValueError(f"can't alias tensor from device '{made.device}' to '{given}'.")
    elif wrong_dtype:
        names = [_core.scalar_name(d) for d in (made.dtype, dtype)]
        raise ValueError(f"can't alias tensor with dtype '{names[0]}' into dtype '{names[1]}'.")
    if not requires_grad:
        return made.detach() if made.requires_grad else made
    return made if made.requires_grad else _requiring(made, True)
