"""Small helpers of many modules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import scalar_word
from shim_torch._impl.tensor.tensor_groups import (  # noqa: F401
    _reorder_tensors_as,
    _take_tensors,
)
from shim_torch._impl.utils.exceptions import (  # noqa: F401
    ExceptionWrapper,
    KeyErrorMessage,
)


def is_compiling() -> bool:
    """Whether a compiled function runs, as ``torch.compiler.is_compiling``."""
    return bool(_core.trace_active())


def typename(o: Any) -> str:
    """``torch.typename``: an object's type as PyTorch's messages print it; of a class or function its own dotted name."""
    if isinstance(o, _core.TensorBase):
        return f"torch.{'cuda.' if o.is_cuda else ''}{scalar_word(o.dtype)}Tensor"
    module = getattr(o, "__module__", None)
    name = getattr(o, "__qualname__", None) or getattr(o, "__name__", None) or type(o).__name__
    if not isinstance(module, str) or module in ("builtins", "__builtin__"):
        return str(name)
    return f"{'torch' + module[10:] if module.startswith('shim_torch') else module}.{name}"


# The names under which files of torch.save know how to make tensors again.


def _set(tensor: Any, requires_grad: bool, hooks: Any = None, metadata: Any = None) -> Any:
    if requires_grad:
        tensor.requires_grad_()
    if hooks:
        tensor._backward_hooks = hooks
    if metadata:
        set_tensor_metadata(tensor, metadata)
    return tensor


def get_tensor_metadata(tensor: Any) -> dict[str, bool]:
    """Which of the bits ``conj`` and ``neg`` are set: what files keep of a tensor beside its memory and place."""
    return {name: True for name, on in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if on}


def set_tensor_metadata(tensor: Any, metadata: dict[str, bool]) -> None:
    """Sets the bits that ``get_tensor_metadata`` tells of."""
    from shim_torch._impl.native import _core

    if not isinstance(metadata, dict):
        raise AssertionError(f"expected dict, got {type(metadata).__name__}")
    for name, on in metadata.items():
        if name not in ("conj", "neg"):
            raise RuntimeError(f"Unexpected key `{name}` passed to setTensorMetadata().")
        (_core._set_conj if name == "conj" else _core._set_neg)(tensor, on)


def _over(storage: Any, dtype: Any, offset: int, size: Any, stride: Any) -> Any:
    """A tensor over a storage that has its elements already. RuntimeError for one that has not: ``set_`` would make it larger,
    with whatever lies in that memory."""
    from shim_torch._impl.native import _core

    nbytes, size, stride = storage.nbytes(), tuple(size), tuple(stride)
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    needed = (offset + last + 1) * dtype.itemsize if 0 not in size else 0
    if needed > nbytes or min((offset, *size, *stride)) < 0:
        raise RuntimeError(
            f"setStorage: sizes {[*size]}, strides {[*stride]}, storage offset {offset}, and itemsize {dtype.itemsize} requiring a "
            f"storage size of {needed} are out of bounds for storage of size {nbytes}"
        )
    return _core.empty_tensor((0,), dtype, storage.device).set_(storage.untyped(), offset, size, stride)


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    return _over(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    tensor = _over(storage, storage.dtype, storage_offset, size, stride)
    return _set(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    tensor = _over(storage, dtype, storage_offset, size, stride)
    return _set(tensor, requires_grad, backward_hooks, metadata)


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is here: ``"cuda"``, or None."""
    return "cuda" if _core.cuda_device_count() else None


def _module_of(device_type: str) -> Any:
    """``torch.cuda``, ``torch.cpu`` …, the module named after a kind of device; None where there is none."""
    try:
        return import_module(f"shim_torch.{device_type}")
    except ModuleNotFoundError:
        return None


def _get_device_module(device_type: str) -> Any:
    """``torch.cuda``, ``torch.cpu`` …; RuntimeError for a kind of device that has none."""
    found = _module_of(device_type)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return found


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    from shim_torch._impl.native import _core

    return _set(_core.empty_strided(tuple(size), tuple(stride), dtype, _core.device("meta")), requires_grad)


def _rebuild_wrapper_subclass(
    cls: Any, dtype: Any, size: Any, stride: Any, storage_offset: int, layout: Any, device: Any, requires_grad: bool
) -> Any:
    """A tensor of a class with ``__torch_dispatch__`` that has no memory of its own; its attributes are set afterwards."""
    make: Any = _core.Tensor
    return make._make_wrapper_subclass(
        cls, size, strides=stride, dtype=dtype, storage_offset=storage_offset, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    from shim_torch.nn.parameter import Parameter

    return _set(Parameter(data, requires_grad), False, backward_hooks)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _get_obj_state(obj: Any) -> Any:
    """What an instance of a tensor's class holds: its ``__dict__``, or a pair of that and its slots, or its own ``__getstate__``."""
    import copyreg

    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return own(obj)
    slots = copyreg._slotnames(type(obj))  # type: ignore[attr-defined]
    attributes = dict(getattr(obj, "__dict__", None) or {})
    return (attributes, {name: getattr(obj, name) for name in slots if hasattr(obj, name)}) if slots else attributes


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Gives ``obj`` its ``__dict__`` back, and its slots where ``state`` is a pair."""
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for attributes in (plain, slots):
        for name, value in (attributes or {}).items():
            setattr(obj, name, value)
    return obj


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    from shim_torch._impl.sparse.pickling import rebuild

    return rebuild(layout, data)


def _rebuild_qtensor(*_: Any) -> Any:
    raise NotImplementedError("torch.load: quantized tensors are not supported by shim-torch")


def _rebuild_nested_tensor(*_: Any) -> Any:
    raise NotImplementedError("torch.load: nested tensors are not supported by shim-torch")


def _element_size(dtype: Any) -> int:
    """The bytes of one element of ``dtype``."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Any) -> Any:
    """Tensors of one dtype as one vector, copied."""
    from shim_torch._impl.nn.calls import operators

    return operators.flatten_dense_tensors(tensors)


def _unflatten_dense_tensors(flat: Any, tensors: Any) -> Any:
    """Views of a vector with the shapes of ``tensors``, one after the other."""
    from shim_torch._impl.nn.calls import operators

    return operators.unflatten_dense_tensors(flat, tensors)


def _is_privateuse1_backend_available() -> bool:
    """Whether a backend of one's own is registered: nobody's is."""
    return False


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> Any:
    """The index of a GPU given as an index, a text or a device; -1 for the CPU with ``allow_cpu``; with ``optional`` the
    current GPU's (None where there is none) for what has no index. Errors: ValueError for the CPU and None otherwise."""
    device = _core.device(device) if isinstance(device, str) else device
    match device:
        case int():
            return device
        case _core.device(type="cpu"):
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        case _core.device(index=int(index)):
            return index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    from shim_torch import cuda

    return cuda.current_device() if cuda.is_available() else None


def get_device_module(device: Any = None) -> Any:
    """``torch.cuda``, ``torch.cpu`` ... of a device, its text, or the accelerator there is; RuntimeError for others."""
    match device:
        case None:
            kind = "cuda" if _core.cuda_device_count() else "cpu"
        case str() | _core.device():
            kind = _core.device(device).type
        case _:
            raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    found = _module_of(kind)
    if found is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return found
