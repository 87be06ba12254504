"""Operators on a tensor's own state, questions about it, and symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, package
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.schema import SCALAR_TYPES

# --- symbols ----------------------------------------------------------------------------------------------------------

for _name, _sign in (("and", "&"), ("or", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>")):

    def _applied(name: str) -> Callable[..., Any]:
        def body(self: Any, other: Any) -> Any:
            return getattr(self, name)(other)

        return body

    if _name.endswith("shift"):
        aten(f"__{_name}__.Tensor", f"__{_name}__.Scalar", numbers="any")(_applied(f"__{_name}__"))
    aten(f"__i{_name}__.Tensor", f"__i{_name}__.Scalar")(_applied(f"__i{_name}__"))

# --- state ------------------------------------------------------------------------------------------------------------


@aten("set_")
def set_(self: Any) -> Any:
    """Leaves the tensor without elements, on storage of its own."""
    return self.set_()


@aten("set_.source_Tensor")
def set_source_tensor(self, source):
    """Lets the tensor share the storage, sizes and strides of ``source``."""
    return self.set_(source)


@aten("set_.source_Tensor_storage_offset")
def set_source_tensor_offset(self, source, storage_offset, size, stride):
    """Lets the tensor share the storage of ``source``, from an offset on, with sizes and strides as given."""
    return self.set_(source, storage_offset, size, stride)


@aten("set_.source_Storage")
def set_source_storage(self, source):
    """Lets the tensor be all of a storage, in one dim."""
    return self.set_(source)


@aten("set_.source_Storage_storage_offset")
def set_source_storage_offset(self, source, storage_offset, size, stride):
    """Lets the tensor share a storage, from an offset on, with sizes and strides as given."""
    return self.set_(source, storage_offset, size, stride)


@aten("record_stream")
def record_stream(self, stream):
    """Keeps the tensor's memory from being used again before the work now on the stream is done."""
    self.record_stream(stream)


@aten("_efficientzerotensor", public=True)
def _efficientzerotensor(size, dtype, layout, device, pin_memory):
    return torch.zeros(size, dtype=dtype, device=device)


@aten("polygamma_")
def polygamma_(self, n):
    """The n-th derivative of digamma of each element, in place."""
    return self.copy_(torch.polygamma(n, self))


@aten("requires_grad_")
def requires_grad_(self, requires_grad):
    """Sets whether the tensor wants a gradient."""
    return self.requires_grad_(requires_grad)


@aten("data")
def data(self):
    """The tensor's values without its history, in the same memory."""
    return self.data


@aten("set_data")
def set_data(self, new_data):
    """Gives the tensor the memory of ``new_data``, and keeps its history."""
    self.data = new_data


@aten("output_nr")
def output_nr(self):
    """Which result of its operator the tensor is."""
    return self.output_nr


@aten("retain_grad")
def retain_grad(self):
    """Lets the tensor, though an operator's result, keep its gradient."""
    self.retain_grad()


@aten("_backward")
def _backward(self, inputs, gradient, retain_graph, create_graph):
    self.backward(gradient, retain_graph, create_graph, inputs=inputs)


@aten("pin_memory")
def pin_memory(self, device):
    """A copy in page-locked memory."""
    return self.pin_memory() if device is None else self.pin_memory(device)


@aten("_resize_output_")
def _resize_output_(self, size, device):
    if self.device != device:
        raise RuntimeError(
            f"out Tensor doesn't have the correct device set expected device: {device}, got: {self.device}"
        )
    return self if tuple(self.shape) == tuple(size) else self.resize_(size)


@aten("_copy_from")
def _copy_from(self, dst, non_blocking):
    return dst.copy_(self, non_blocking)


@aten("_copy_from_and_resize")
def _copy_from_and_resize(self, dst):
    return (dst if dst.shape == self.shape else dst.resize_(self.shape)).copy_(self)


@aten("_to_cpu")
def _to_cpu(tensors):
    return [t.cpu() for t in tensors]


@aten("_reshape_alias_copy")
def _reshape_alias_copy(self, size, stride):
    return ops._reshape_alias(self, size, stride).clone(memory_format=_core.contiguous_format)


@aten("_reshape_from_tensor")
def _reshape_from_tensor(self, shape):
    if shape.dim() != 1:
        raise RuntimeError("shape.dim() == 1 INTERNAL ASSERT FAILED: shape must be a 1-D tensor")
    return self.reshape(shape.tolist())


@aten("slice_inverse")
def slice_inverse(self, src, dim, start, end, step):
    """A view of all of ``src``; the other arguments are not read."""
    return src.as_strided(src.shape, src.stride(), src.storage_offset())


@aten("_autocast_to_full_precision")
def _autocast_to_full_precision(self, cuda_enabled, cpu_enabled):
    on = cuda_enabled if self.is_cuda else cpu_enabled
    return self.to(_core.float32) if on and self.dtype in (_core.float16, _core.bfloat16) else self


@aten("_autocast_to_reduced_precision")
def _autocast_to_reduced_precision(self, cuda_enabled, cpu_enabled, cuda_dtype, cpu_dtype):
    on, dtype = (cuda_enabled, cuda_dtype) if self.is_cuda else (cpu_enabled, cpu_dtype)
    return self.to(dtype) if on and self.dtype is _core.float32 else self


@aten("_fw_primal")
def _fw_primal(self, level):
    return package().autograd.forward_ad.unpack_dual(self, level=level).primal


@aten("_make_dual")
def _make_dual(primal, tangent, level):
    return package().autograd.forward_ad.make_dual(primal, tangent, level=level)


@aten("_unpack_dual")
def _unpack_dual(dual, level):
    return tuple(package().autograd.forward_ad.unpack_dual(dual, level=level))


# --- questions --------------------------------------------------------------------------------------------------------

aten("is_vulkan_available", "_nnpack_available")(lambda: False)
aten("_use_cudnn_rnn_flatten_weight", public=True)(lambda: package().backends.cudnn.is_available())
aten("is_distributed", "cudnn_is_acceptable", "_is_zerotensor", public=True)(lambda self: False)
aten("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor")(
    lambda log_probs, targets, input_lengths, target_lengths, blank: False
)


@aten("_has_same_storage_numel")
def _has_same_storage_numel(self, other):
    return self.untyped_storage().nbytes() // self.itemsize == other.untyped_storage().nbytes() // other.itemsize


@aten("sym_is_contiguous")
def sym_is_contiguous(self, memory_format):
    """Whether the elements lie in the order of a memory format."""
    return self.is_contiguous(memory_format=memory_format)


@aten("_debug_has_internal_overlap", public=True)
def _debug_has_internal_overlap(self):
    """0: every element has memory of its own; 1: some share it; 2: not known without a search."""
    if self.is_contiguous():
        return 0
    if any(n > 1 and s == 0 for n, s in zip(self.shape, self.stride(), strict=True)):
        return 1
    reach = 1
    for n, s in sorted(zip(self.shape, self.stride(), strict=True), key=lambda pair: pair[1]):
        if n == 1:
            continue
        if s != reach:
            return 2
        reach *= n
    return 0


# PyTorch's operators (not its functions) return a dtype as its number.
for _overload in ("Tensor", "Scalar", "Scalar_Tensor", "Scalar_Scalar"):
    aten(f"result_type.{_overload}", numbers="any")(
        lambda one, two: SCALAR_TYPES.index(str(_core.result_type(one, two))[6:])
    )
