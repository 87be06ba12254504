"""Copies, casts and moves between devices."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import same, same_dtype


@op(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    foreseen="any",
    native="clone",
    shape=same,
    dtype=same_dtype,
    grad={"self": lambda g: g},
    reads_math_bits=True,
)
def clone(xp, self, memory_format):
    """A copy in memory of its own, with the order of the strides kept or as ``memory_format`` says; gradients pass."""
    return self.copy()


@direct("_lazy_clone(Tensor self) -> Tensor", grad={"self": lambda g: g})
def _lazy_clone(self):
    return _core.lazy_clone(self)


@composite("_test_parallel_materialize(Tensor self, int num_parallel, bool skip_first=False) -> Tensor", method=False)
def _test_parallel_materialize(self, num_parallel, skip_first):
    return _core.own_in_parallel(self, num_parallel, skip_first)


@composite(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    function=False,
    native="contiguous",
    batching="pointwise",
)
def contiguous(self, memory_format):
    """``self`` if its memory is laid out as ``memory_format`` says (by default in C order), else a copy that is."""
    if self.is_contiguous(memory_format=memory_format):
        return self
    if memory_format == _core.preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=memory_format)


def _cast_grad(g, self_dtype, self_device):
    return g.to(device=self_device, dtype=self_dtype)


@op(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    foreseen="any",
    native="_to_copy",
    method=False,
    function=False,
    module="_C",
    grad={"self": _cast_grad},
    batching="pointwise",
)
def _to_copy(xp, self, dtype, layout, device, pin_memory, non_blocking, memory_format):
    raise NotImplementedError("aten::_to_copy is native")


def _convert(self: Any, device: Any, dtype: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    if device is not None and device.type == "cuda" and device.index is None:
        device = _core.device("cuda", _core.cuda_current_device())
    if device is not None and device.type == "cpu":
        device = _core.device("cpu")
    same_place = device is None or device == self.device
    same_kind = dtype is None or dtype == self.dtype
    same_form = (
        memory_format is None
        or memory_format == _core.preserve_format
        or memory_format == _core.suggest_memory_format(self)
    )
    if same_place and same_kind and same_form and not copy:
        return self
    return aten._to_copy(self, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=memory_format)


@composite(
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
    native="to",
)
def to_dtype(self, dtype, non_blocking, copy, memory_format):
    """The values in another dtype, on another device, or in those of ``other``.

    ``self`` itself where nothing changes, unless ``copy``. Gradients come back in its dtype and on its device.
    """
    return _convert(self, None, dtype, non_blocking, copy, memory_format)


@composite(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
    native="to",
)
def to_other(self, other, non_blocking, copy, memory_format):
    """The values in the dtype and on the device of ``other``."""
    return _convert(self, other.device, other.dtype, non_blocking, copy, memory_format)


@composite(
    "to.device(Tensor(a) self, Device? device, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
    native="to",
)
def to_device(self, device, dtype, non_blocking, copy, memory_format):
    """The values on ``device``, in ``dtype`` if one is given."""
    return _convert(self, device, dtype, non_blocking, copy, memory_format)


@composite(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
)
def to_layout(self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format):
    """The values in ``dtype`` on ``device``, in pinned memory where that is asked for; RuntimeError for another layout."""
    if layout is not None and layout != self.layout or pin_memory:
        if pin_memory and device is None and not self.is_cuda and self.is_pinned():
            pin_memory = None
        return aten._to_copy(
            self, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, non_blocking=non_blocking,
            memory_format=memory_format)  # fmt: skip
    return _convert(self, device, dtype, non_blocking, copy, memory_format)


@op(
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    foreseen="any",
    native="copy_",
    function=False,
    grad={"self": lambda g: g.new_zeros(g.shape), "src": lambda g, src_device: g.to(device=src_device)},
    numbers="any",
    python_names=("src", "other"),
    reads_math_bits=True,
)
def copy_(xp, self, src, non_blocking):
    """In place: the values of ``src``, broadcast to the sizes of ``self`` and cast to its dtype, from any device."""
    self[...] = src.astype(self.dtype) if hasattr(src, "astype") else src  # a number fills
    return self


@op(
    "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    foreseen="any",
    shape=same,
    dtype=same_dtype,
    native="fill_",
    grad={"self": lambda g: g.new_zeros(g.shape)},
    expanded="same_value",
    reads_math_bits=True,
)
def fill(xp, self, value):
    """In place: every element is ``value``, a number or a 0-d tensor (RuntimeError for others)."""
    return xp.full_like(self, value)


@op(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
    foreseen="",
    shape=same,
    dtype=same_dtype,
    grad={"self": lambda g: g.new_zeros(g.shape), "value": lambda g: g.sum()},
    expanded="same_value",
    reads_math_bits=True,
    numbers="any",
)
def fill_tensor(xp, self, value):
    """In place: every element is that of ``value``, a 0-d tensor."""
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return xp.broadcast_to(value, self.shape).copy()


@op(
    "zero_(Tensor(a!) self) -> Tensor(a!)",
    foreseen="any",
    shape=same,
    dtype=same_dtype,
    native="zero_",
    grad={"self": lambda g: g.new_zeros(g.shape)},
    expanded="same_value",
    reads_math_bits=True,
)
def zero(xp, self):
    """In place: every element is 0."""
    return xp.zeros_like(self)


@composite("type_as(Tensor self, Tensor other) -> Tensor", function=False)
def type_as(self, other):
    """The values in the dtype and on the device of ``other``; ``self`` where they are that already."""
    return self.to(other)


@composite("is_pinned(Tensor self, Device? device=None) -> bool", function=False, method=False)
def is_pinned(self, device):
    """Whether the tensor lies in page-locked memory of the host, from which a GPU copies asynchronously."""
    return self.is_pinned()
