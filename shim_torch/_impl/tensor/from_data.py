"""The functions of torch that make tensors from data: numbers, sequences, arrays, buffers, DLPack objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.arguments import as_dtype, need_bool, need_device, need_dtype
from shim_torch._impl.table.calls import aten
from shim_torch._impl.tensor.from_memory import (
    from_array,
    from_cuda,
    from_dlpack,
    from_numpy,
    frombuffer,
    requiring,
)
from shim_torch._impl.tensor.from_sequences import _from_data

Tensor = _core.Tensor
__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "tensor"]


def _device(function: str, device: Any) -> Any:
    if device is None:
        return _core._default_device()  # None where none was set: tensors and arrays stay where they are
    need_device(device, function)
    return device if isinstance(device, _core.device) else _core.device(device)


def _dtype(function: str, dtype: Any) -> Any:
    dtype = as_dtype(dtype)
    if dtype is not None:
        need_dtype(dtype, function, "dtype")
    return dtype


_NOTHING: Any = object()  # stands for data that was not given


def _lacks(function: str, argument: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{argument}"')


def tensor(
    data: Any = _NOTHING,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    names: Any = None,
) -> Any:
    """A new tensor with a copy of ``data`` (numbers, nested sequences, arrays)."""
    if data is _NOTHING:
        raise _lacks("tensor", "data")
    if names is not None:
        raise NotImplementedError(
            "torch.tensor: argument 'names' is not supported by shim-torch: there are no named tensors"
        )
    device, dtype = _device("tensor", device), _dtype("tensor", dtype)
    need_bool(requires_grad, "tensor", "requires_grad", None)
    need_bool(pin_memory, "tensor", "pin_memory", None)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        made = data.detach().clone().to(device=device, dtype=dtype)
    elif _core._len_torch_dispatch_stack():
        made = _shown_to_modes(_unseen(data, dtype), device)
    else:
        made = _from_data(data, dtype, device or _core.device("cpu"))
    if pin_memory:
        made = made.pin_memory()
    return requiring(made, requires_grad)


def _unseen(data: Any, dtype: Any) -> Any:
    """Makes a CPU tensor from data, with all modes switched off."""
    from shim_torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return _from_data(data, dtype, _core.device("cpu"))


def _shown_to_modes(made: Any, device: Any) -> Any:
    """The new tensor as dispatch modes see it: lifted on the CPU (``lift_fresh``), then moved."""
    lifted = aten.lift_fresh.default(made)
    return lifted if device is None or device.type == "cpu" else lifted.to(device)


def as_tensor(data: Any = _NOTHING, *, dtype: Any = None, device: Any = None) -> Any:
    """``data`` as a tensor, sharing memory where it can (tensors, NumPy and CuPy arrays, DLPack)."""
    if data is _NOTHING:
        raise _lacks("as_tensor", "data")
    device, dtype = _device("as_tensor", device), _dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        made = from_array(data)
        made = _shown_to_modes(made, None) if _core._len_torch_dispatch_stack() else made
        return made.to(device=device, dtype=dtype)
    if hasattr(data, "__cuda_array_interface__"):
        return from_cuda(data).to(device=device, dtype=dtype)
    if hasattr(data, "__dlpack__") and not isinstance(data, (list, tuple, np.generic)):
        return from_dlpack(data).to(device=device, dtype=dtype)
    if _core._len_torch_dispatch_stack():
        return _shown_to_modes(_unseen(data, dtype), device)
    return _from_data(data, dtype, device or _core.device("cpu"))


def _shared(obj: Any, dtype: Any, copy: bool | None) -> Any:
    """``obj`` as a tensor over its memory; None where it has none that a tensor can share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        return _core.from_numpy(np.asarray(obj))
    if isinstance(obj, np.ndarray):
        return from_array(obj, warn=not copy)
    if isinstance(obj, (list, tuple, int, float, complex)):
        return None
    if hasattr(obj, "__cuda_array_interface__"):
        return from_cuda(obj)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if type(obj).__name__ == "PyCapsule":
        return _core.from_dlpack_capsule(obj)
    if isinstance(obj, _core.UntypedStorage):
        from shim_torch._impl.tensor.untyped_storage import over

        return over(obj, dtype or _core.int64)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or _core.get_default_dtype())


def asarray(
    obj: Any = _NOTHING,
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
    if obj is _NOTHING:
        raise _lacks("asarray", "obj")
    dtype = _dtype("asarray", dtype)
    given = _device("asarray", device)
    for name, flag in (("copy", copy), ("requires_grad", requires_grad)):
        if flag is not None:
            need_bool(flag, "asarray", name, None)
    made = _shared(obj, dtype, copy)
    if made is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return requiring(_from_data(obj, dtype, given or _core.device("cpu")), bool(requires_grad))
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
        # a leaf is told so itself: PyTorch gives no new tensor for it
        return made.requires_grad_(False) if made.is_leaf else made.detach()
    return made if made.requires_grad else requiring(made, True)


naming.present(globals(), "torch")
