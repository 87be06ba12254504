"""Tensors over memory of others: arrays, buffers, DLPack objects, what has ``__cuda_array_interface__``."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.arguments import need_bool, need_dtype, need_int
from shim_torch._impl.table.calls import aten

Tensor = _core.Tensor


def from_array(array: Any, warn: bool = True) -> Any:
    """A tensor over an array's memory; warns of memory that must not be written."""
    return _core.from_numpy(array, warn)


def from_cuda(obj: Any) -> Any:
    """A tensor over the memory of a ``__cuda_array_interface__`` object (CuPy, Numba, JAX)."""
    from shim_torch._impl.cuda.cupy_link import link_cupy

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
        _core.cuda_stream_synchronize(device.index, stream)
    return _core.from_pointer(pointer or 0, obj, device, kind, tuple(cai["shape"]), steps)


def from_numpy(ndarray: Any) -> Any:
    """A tensor over an array's memory."""
    made = _core.from_numpy(ndarray)
    if not _core._len_torch_dispatch_stack():
        return made
    return aten.lift_fresh.default(made)  # what dispatch modes make of it


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A 1-d tensor over a buffer's memory: ``count`` elements (all that are left if negative) from byte ``offset`` on.

    Errors: ValueError where the buffer does not hold them, RuntimeError where its memory is not contiguous,
    TypeError for a ``count`` or ``offset`` that is no integer.
    """
    need_dtype(dtype, "frombuffer", "dtype")
    need_int(count, "frombuffer", "count", None)
    need_int(offset, "frombuffer", "offset", None)
    need_bool(requires_grad, "frombuffer", "requires_grad", None)
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
    made = _core.view_dtype(from_array(raw, warn=False), dtype)
    return requiring(made, requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of a DLPack object or capsule."""
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if ext_tensor.is_conj():
            raise BufferError("Can't export tensors with the conjugate bit set")
        held = ext_tensor._neg_view().detach() if ext_tensor.is_neg() else ext_tensor  # as memory holds it
        return held.view(held.shape) if not copy else held.clone()
    if not hasattr(ext_tensor, "__dlpack__"):
        made = _core.from_dlpack_capsule(ext_tensor)
        return made.clone() if copy else made
    from shim_torch._impl.cuda.devices import device as cuda_device

    kind, index = ext_tensor.__dlpack_device__()
    kwargs: dict[str, Any] = {"max_version": (1, 0)}
    if int(kind) == 2:
        from shim_torch._impl.cuda.streams import raw_stream

        pointer = raw_stream(index)
        kwargs["stream"] = pointer if pointer else 1
    # Producers order their stream with ours on the device that is current, and refuse where it is not the array's.
    with cuda_device(index if int(kind) == 2 else -1):
        try:
            capsule = ext_tensor.__dlpack__(**kwargs)
        except TypeError:  # a producer older than DLPack 1.0
            kwargs.pop("max_version")
            capsule = ext_tensor.__dlpack__(**kwargs)
    made = _core.from_dlpack_capsule(capsule)
    if device is not None:
        made = made.to(device)
    return made.clone() if copy else made


def requiring(made: Any, requires_grad: bool) -> Any:
    """``made``, requiring gradients if asked; RuntimeError for dtypes that cannot."""
    if not requires_grad:
        return made
    if not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_()


naming.present(globals(), "torch", elsewhere={"torch.utils.dlpack": ["from_dlpack"]})
