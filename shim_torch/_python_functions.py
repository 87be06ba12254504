"""Functions of ``torch`` that are not operators: tensors from data, questions, settings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from native import _core

Tensor = _core.Tensor
__all__ = [
    "_assert_async",
    "are_deterministic_algorithms_enabled",
    "as_tensor",
    "asarray",
    "cdist",
    "compiled_with_cxx11_abi",
    "conj",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "imag",
    "is_complex",
    "is_conj",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "is_warn_always_enabled",
    "nonzero",
    "numel",
    "real",
    "resolve_conj",
    "resolve_neg",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "tensor",
    "use_deterministic_algorithms",
    "get_num_interop_threads",
    "_debug_has_internal_overlap",
]


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return isinstance(obj, _core.UntypedStorage)


def is_floating_point(input: Any) -> bool:
    return input.is_floating_point()


def is_complex(input: Any) -> bool:
    return input.is_complex()


def is_signed(input: Any) -> bool:
    return input.is_signed()


def is_conj(input: Any) -> bool:
    return input.is_conj()


def is_neg(input: Any) -> bool:
    return input.is_neg()


def is_inference(input: Any) -> bool:
    return input.is_inference()


def is_nonzero(input: Any) -> bool:
    """The truth of a one-element tensor."""
    return bool(input)


def is_same_size(input: Any, other: Any) -> bool:
    return input.shape == other.shape


def numel(input: Any) -> int:
    """The number of elements."""
    return input.numel()


def real(input: Any) -> Any:
    """The real part, a view."""
    return input.real


def imag(input: Any) -> Any:
    """The imaginary part, a view."""
    return input.imag


def conj(input: Any) -> Any:
    """The complex conjugate."""
    return input.conj()


def resolve_conj(input: Any) -> Any:
    return input


def resolve_neg(input: Any) -> Any:
    return input


def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of the nonzero elements."""
    from shim_torch.ops.indexing import nonzero_function

    return nonzero_function(input, out=out, as_tuple=as_tuple)


# --- tensors from data ------------------------------------------------------------------------------------------------------


def _inferred(flat: Any) -> Any:
    """The dtype of a list of Python numbers."""
    kinds = {type(x) for x in flat}
    if complex in kinds:
        return _core.get_default_dtype().to_complex()
    if float in kinds or not kinds:
        return _core.get_default_dtype()
    return _core.int64 if kinds != {bool} else _core.bool


def _flatten(data: Any, shape: list[int], depth: int, out: list[Any]) -> None:
    if (
        isinstance(data, (list, tuple, range))
        or hasattr(data, "__len__")
        and hasattr(data, "__getitem__")
        and not isinstance(data, (str, bytes, Tensor, np.ndarray))
    ):
        if depth == len(shape):
            if out:
                raise TypeError(f"not a sequence of numbers at dim {depth}")
            shape.append(len(data))
        elif len(data) != shape[depth]:
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
        for item in data:
            _flatten(item, shape, depth + 1, out)
        return
    if isinstance(data, Tensor):
        if data.dim() == 0 or data.numel() == 1:
            if depth < len(shape):
                raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth}")
            out.append(data.item())
            return
        return _flatten(data.tolist(), shape, depth, out)
    if isinstance(data, np.ndarray) and data.ndim:
        return _flatten(data.tolist(), shape, depth, out)
    if isinstance(data, np.generic) or isinstance(data, np.ndarray):
        data = data.item()
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, (bool, int, float, complex)):
        if hasattr(data, "__index__"):
            data = data.__index__()
        elif hasattr(data, "__float__"):
            data = float(data)
        else:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if depth < len(shape):
        raise TypeError(f"expected sequence of length {shape[depth]} at dim {depth}")
    out.append(data)


# Python's own types stand for dtypes, as in torch.tensor(1, dtype=float).
_PYTHON_TYPES = {float: _core.float64, int: _core.int64, bool: _core.bool, complex: _core.complex128}


def _from_data(data: Any, dtype: Any, device: Any) -> Any:
    dtype = _PYTHON_TYPES.get(dtype, dtype)
    made = _core.tensor_from_numbers(data, dtype)
    if made is not None:
        return made if device.type == "cpu" else made.to(device)
    if isinstance(data, np.generic):
        data = np.asarray(data)
    if isinstance(data, np.ndarray):
        return _from_array(data).to(device=device, dtype=dtype, copy=True)
    if hasattr(data, "__cuda_array_interface__") and not isinstance(data, Tensor):
        return _from_cuda(data).to(device=device, dtype=dtype, copy=True)
    shape: list[int] = []
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    kind = _numpy_scalar_dtype(data) or _inferred(flat)
    target = dtype or kind
    if 0 in shape:
        flat = []
    simple = not (target.itemsize == 1 and target.is_floating_point) and str(target) not in (
        "torch.bfloat16",
        "torch.complex32",
        "torch.float4_e2m1fn_x2",
    )
    array_dtype = _core.numpy_dtype(target) if simple else np.dtype("complex64" if target.is_complex else "float32")
    try:
        if array_dtype.kind in "iu" and any(isinstance(x, float) for x in flat):
            flat = [int(x) for x in flat]
        if array_dtype.kind == "u" and array_dtype.itemsize == 1:
            flat = [x + 256 if -256 < x < 0 else x for x in flat]
        array = np.array(flat, dtype=array_dtype).reshape(shape)
    except OverflowError as error:
        if array_dtype.kind in "iu" and array_dtype.itemsize < 8:
            raise RuntimeError(
                f"value cannot be converted to type {str(target).removeprefix('torch.')} without overflow"
            ) from error
        raise RuntimeError("Overflow when unpacking long long") from error
    made = (
        _core.clone_raw(_core.from_numpy(array))
        if array.size
        else _core.empty_tensor(tuple(shape), target if simple else _core.float32)
    )
    return made.to(device=device, dtype=target)


def _numpy_scalar_dtype(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    if isinstance(data, (np.generic, np.ndarray)):
        return _core.dtype_from_numpy(data.dtype)
    return data.dtype if isinstance(data, Tensor) else None


def _from_array(array: Any) -> Any:
    if any(s < 0 for s in array.strides) or not array.dtype.isnative:
        if any(s < 0 for s in array.strides):
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
                "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
            )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _core.from_numpy(array)


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
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        made = data.detach().clone().to(device=device, dtype=dtype)
    else:
        made = _from_data(data, dtype, device or _core.device("cpu"))
    if pin_memory:
        made = made.pin_memory()
    return made.requires_grad_() if requires_grad else made


def _device(device: Any) -> Any:
    if device is None:
        return _core.get_default_device()
    return device if isinstance(device, _core.device) else _core.device(device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """``data`` as a tensor, sharing memory where it can (tensors, NumPy and CuPy arrays, DLPack)."""
    device = _device(device)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        return _from_array(data).to(device=device, dtype=dtype)
    if hasattr(data, "__cuda_array_interface__"):
        return _from_cuda(data).to(device=device, dtype=dtype)
    if hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple)):
        return from_dlpack(data).to(device=device, dtype=dtype)
    return _from_data(data, dtype, device or _core.device("cpu"))


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """``obj`` as a tensor; ``copy`` decides whether memory is shared."""
    if isinstance(obj, _core.UntypedStorage):
        from shim_torch.storage import untyped_tensor

        obj = untyped_tensor(obj)
    made = as_tensor(obj, dtype=dtype, device=device)
    if copy:
        made = made.clone()
    elif copy is False and isinstance(obj, (list, tuple, int, float)):
        raise ValueError("can't alias arbitrary sequence or scalar")
    return made.requires_grad_() if requires_grad else made


def from_numpy(ndarray: Any) -> Any:
    """A tensor over an array's memory."""
    return _core.from_numpy(ndarray)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A tensor over a buffer's memory."""
    view = memoryview(buffer)
    size = dtype.itemsize
    total = view.nbytes
    if total == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
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
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual buffer length ({total} bytes)"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors.", stacklevel=2
        )
    raw = np.frombuffer(view, dtype=np.uint8)[offset : offset + count * size]
    made = _core.view_dtype(_from_array(raw), dtype)
    return made.requires_grad_() if requires_grad else made


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of a DLPack object or capsule."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.view(ext_tensor.shape) if not copy else ext_tensor.clone()
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


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """Distances between all rows of two batches: (*, P, M), (*, R, M) -> (*, P, R)."""
    import shim_torch

    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return shim_torch.ops.aten.cdist(x1, x2, p, modes[compute_mode])


# --- settings -----------------------------------------------------------------------------------------------------------------

_settings: dict[str, Any] = {"deterministic": 0, "precision": "highest", "warn_always": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Operators here are deterministic but for float atomics of Triton kernels; the flag is kept and readable."""
    _settings["deterministic"] = (1 if warn_only else 2) if mode else 0
    _core.gemm_flag("deterministic", mode)


def are_deterministic_algorithms_enabled() -> bool:
    return _settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return _settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    _settings["deterministic"] = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)


def get_deterministic_debug_mode() -> int:
    return _settings["deterministic"]


def set_float32_matmul_precision(precision: str) -> None:
    """highest, high or medium; "high" allows TF32 in CUDA products."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"Cannot access attribute: float32_matmul_precision must be one of highest, high, medium, got {precision}"
        )
    _settings["precision"] = precision
    _core.gemm_flag("allow_tf32", precision != "highest")


def get_float32_matmul_precision() -> str:
    tf32 = _core.gemm_flag("allow_tf32")
    if tf32 == (_settings["precision"] != "highest"):
        return _settings["precision"]
    return "high" if tf32 else "highest"  # switched through torch.backends.cuda.matmul


def set_default_device(device: Any) -> None:
    """Where factories put new tensors."""
    _core.set_default_device(
        None if device is None else _core.device(device) if not isinstance(device, _core.device) else device
    )


def get_default_device() -> Any:
    """Where factories put new tensors."""
    return _core.get_default_device()


def set_default_tensor_type(t: Any) -> None:
    """Deprecated: sets the default dtype from a tensor type's name."""
    name = t if isinstance(t, str) else t.__name__
    table = {
        "FloatTensor": _core.float32,
        "DoubleTensor": _core.float64,
        "HalfTensor": _core.float16,
        "BFloat16Tensor": _core.bfloat16,
    }
    _core.set_default_dtype(table[name.rpartition(".")[2]])


def set_flush_denormal(mode: bool) -> bool:
    """Not supported: False, as on processors that can't."""
    return False


def set_warn_always(b: bool, /) -> None:
    _settings["warn_always"] = b


def is_warn_always_enabled() -> bool:
    return _settings["warn_always"]


def get_num_interop_threads() -> int:
    return 1


def set_num_interop_threads(n: int) -> None:
    """One thread runs operators; kept for programs that set it."""


def compiled_with_cxx11_abi() -> bool:
    return True


def _assert_async(input: Any, message: str = "Assertion failed") -> None:
    """RuntimeError if a one-element tensor is false."""
    if not bool(input):
        raise RuntimeError(message)


def _debug_has_internal_overlap(input: Any) -> int:
    """0: no element stands twice in memory; 1: some do; 2: not known."""
    if input.is_contiguous():
        return 0
    if any(s == 0 and n > 1 for s, n in zip(input.stride(), input.shape, strict=True)):
        return 1
    return 2
