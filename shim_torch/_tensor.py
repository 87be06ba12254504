"""What the tensor type has beyond operators: arrays, pickling, copying, printing."""

from __future__ import annotations

import contextlib
from numbers import Number
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch._impl.tensor.array_interfaces import _array, _array_wrap, _cuda_array_interface, numpy

# Pickles of before name ``_rebuild`` and ``_rebuild_storage`` here; files of torch.save name ``_rebuild_from_type_v2``.
from shim_torch._impl.tensor.copies import (  # noqa: F401
    _deepcopy,
    _rebuild,
    _rebuild_from_type_v2,
    _rebuild_storage,
    _reduce,
    _reduce_storage,
)
from shim_torch._impl.tensor.overridable_methods import prepare_subclass, show_overrides
from shim_torch._impl.tensor.python_loops import apply_, map2_, map_

Tensor = _core.Tensor


def _convert(ret: Any, cls: Any) -> Any:
    """``ret``, or the tensors in a tuple or list, as ``cls``: what the default ``__torch_function__`` does with results."""
    match ret:
        case Tensor():
            return ret if isinstance(ret, cls) else ret.as_subclass(cls)
        case tuple() | list() if cls is not Tensor:
            return type(ret)([_convert(item, cls) for item in ret])
    return ret


def _repr(self: Any, *, tensor_contents: Any = None) -> str:
    from shim_torch._tensor_str import _str

    return _str(self, tensor_contents=tensor_contents)


def _format(self: Any, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return self.item().__format__(spec)
    return object.__format__(self, spec) if spec else str(self)


def _dir(self: Any) -> list[str]:
    gone = {"volatile"} | (set() if self.is_cuda and not self.is_sparse else {"__cuda_array_interface__"})
    return sorted({*dir(type(self)), *self.__dict__} - gone)


def _iter(self: Any) -> Any:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Any, element: Any) -> bool:
    if isinstance(element, (Tensor, Number)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _reversed(self: Any) -> Any:
    """The tensor from its last row to its first."""
    return self if self.dim() == 0 else self.flip(0)


def storage(self: Any) -> Any:
    """The storage as elements of this dtype; deprecated for ``untyped_storage()``."""
    from shim_torch._impl.tensor.storage_warning import warn

    warn()
    return _typed_storage(self)


def _typed_storage(self: Any) -> Any:
    """The same without the warning."""
    from shim_torch._impl.tensor.typed_storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def is_shared(self: Any) -> bool:
    """Whether the storage is in memory that other processes can map; always so for CUDA tensors."""
    if _core._has_torch_function_unary(self):
        from shim_torch._impl.tensor.torch_function import handle_torch_function

        return bool(handle_torch_function(type(self).is_shared, (self,), self))
    return bool(self.untyped_storage().is_shared())


def share_memory_(self: Any) -> Any:
    """Moves the storage to memory that other processes can map; nothing for CUDA tensors."""
    if _core._has_torch_function_unary(self):
        from shim_torch._impl.tensor.torch_function import handle_torch_function

        return handle_torch_function(type(self).share_memory_, (self,), self)
    self.untyped_storage().share_memory_()
    return self


def storage_type(self: Any) -> Any:
    """The class of ``storage()``: torch.FloatStorage for float32."""
    from shim_torch._impl.tensor.typed_storage import _dtype_to_storage_type_map, legacy_storage

    return legacy_storage(_dtype_to_storage_type_map()[self.dtype], self.device.type)


def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of ``data``, copied, with this tensor's dtype and device unless others are given.

    Errors: TypeError for a ``dtype``, ``device`` or ``requires_grad`` of another type
    """
    from shim_torch._impl.table.arguments import as_dtype, need_bool, need_device, need_dtype
    from shim_torch._impl.tensor.from_data import tensor

    dtype, device = self.dtype if dtype is None else as_dtype(dtype), self.device if device is None else device
    need_dtype(dtype, "new_tensor", "dtype")
    need_device(device, "new_tensor")
    need_bool(requires_grad, "new_tensor", "requires_grad", None)
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


def new(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The old constructor, with this tensor's dtype and device."""
    from shim_torch._impl.tensor import constructor

    return constructor.new(self, *args, **kwargs)


def record_stream(self: Any, stream: Any) -> None:
    """Memory freed after this is not reused before ``stream``'s work of then is done."""
    if self.is_cuda and not _core.cuda_record_stream(self, stream.cuda_stream, stream.device_index):
        event = stream.record_event()
        event.wait()  # somebody else's memory: the tensor's own stream waits, and it is freed in that order


def split(self: Any, split_size: Any, dim: int = 0) -> Any:
    """Views of ``split_size`` indices each along ``dim``, the last perhaps of fewer; or of the sizes in a list."""
    if isinstance(split_size, Tensor):
        with contextlib.suppress(ValueError):  # of several elements: refused as no tuple below
            split_size = int(split_size)
    name = "split" if isinstance(split_size, int) else "split_with_sizes"
    return tuple(_core.function(f"aten::{name}")(self, split_size, dim))


def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
    """The places of elements other than 0: int64 (n, dims), or with ``as_tuple`` one tensor (n,) a dim."""
    from shim_torch._impl.records.index.masking import nonzero_function

    return nonzero_function(self, as_tuple=as_tuple)


def where(self: Any, condition: Any, other: Any) -> Any:
    """This tensor's elements where ``condition`` holds, elsewhere those of ``other``."""
    return _torch.where(condition, self, other)


def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What ``load_state_dict`` puts in the place of ``self``, where tensors are swapped: ``other``, or ``self`` filled with it."""
    if type(other) is Tensor or not _core._has_torch_function_unary(other):
        source = other if assign else self.copy_(other)
        return source.detach()
    return _core._handle_torch_function(vars(Tensor)["module_load"], (self, other), self, other, assign=assign)


def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the largest stride to the smallest.

    ambiguity_check: RuntimeError where sizes of 1 or equal strides allow another order (True), or where not exactly one of a
    list of memory formats fits. AttributeError for sparse tensors.
    """
    if self.is_sparse:
        raise AttributeError(
            f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor first."
        )
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, _core.memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if ambiguity_check is not False:
        strides = self.stride()
        several = 1 in self.shape or any(a == b for a, b in zip(strides, strides[1:], strict=False))
        if several and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
    return tuple(sorted(range(self.dim()), key=lambda d: (-self.stride(d), d)))


def _init_subclass(cls: Any, **kwargs: Any) -> None:
    if _core.TensorBase in cls.__bases__:
        raise RuntimeError("Cannot subclass _TensorBase directly")
    super(_core.TensorBase, cls).__init_subclass__(**kwargs)


def _volatile(self: Any) -> bool:
    import warnings

    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def _set_volatile(self: Any, value: Any) -> None:
    import warnings

    text = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    warnings.warn(text, UserWarning, stacklevel=2)


def install(tensor_type: Any) -> None:
    """Gives the tensor type operators, indexing and the methods above."""
    from shim_torch import autograd, functional
    from shim_torch._impl.table.operators import install as install_operators
    from shim_torch._impl.tensor import casts, indexing, methods, transposes, untyped_storage

    setattr(_core.TensorBase, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010
    table = {
        "numpy": numpy,
        "__array__": _array,
        "__array_wrap__": _array_wrap,
        "__reduce_ex__": _reduce,
        "__deepcopy__": _deepcopy,
        "__repr__": _repr,
        "__format__": _format,
        "__dir__": _dir,
        "__iter__": _iter,
        "__contains__": _contains,
        "__reversed__": _reversed,
        "storage": storage,
        "_typed_storage": _typed_storage,
        "new_tensor": new_tensor,
        "new": new,
        "record_stream": record_stream,
        "split": split,
        "nonzero": nonzero,
        "where": where,
        "apply_": apply_,
        "map_": map_,
        "share_memory_": share_memory_,
        "is_shared": is_shared,
        "storage_type": storage_type,
        "map2_": map2_,
        "dim_order": dim_order,
        "module_load": module_load,
        **casts.methods(),
        **functional.methods(),
    }
    for name, method in table.items():
        setattr(tensor_type, name, method)
    tensor_type.__array_priority__ = 1000
    _core.UntypedStorage.__reduce_ex__ = _reduce_storage
    untyped_storage.install()
    for name, prop in transposes.properties().items():
        setattr(tensor_type, name, prop)
    tensor_type.__cuda_array_interface__ = property(_cuda_array_interface)
    tensor_type.real = property(lambda self: _core_real(self, 0), lambda self, value: _set_real(self, value, 0))
    tensor_type.imag = property(lambda self: _core_real(self, 1), lambda self, value: _set_real(self, value, 1))
    tensor_type.volatile = property(_volatile, _set_volatile)
    tensor_type.names = property(lambda self: (None,) * self.dim())
    install_operators(tensor_type)
    indexing.install()
    methods.install(tensor_type)
    autograd.install(tensor_type)
    show_overrides(tensor_type)
    prepare_subclass(tensor_type)


def _set_real(self: Any, value: Any, which: int) -> None:
    _core_real(self, which).copy_(value if isinstance(value, Tensor) else self.new_tensor(value))


def _core_real(self: Any, which: int) -> Any:
    if not self.is_complex():
        if which:
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return self
    from shim_torch._impl.records.pointwise import math_bits

    if self.layout != _core.strided:
        from shim_torch._impl.sparse.coo import parts, with_values

        return with_values(self, _torch.view_as_real(parts(self).values).select(-1, which))
    return math_bits.part(self, which)
