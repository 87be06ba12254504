"""ATen names of what tensors do natively, and old names of functions that have others now."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import type_word
from shim_torch._impl.tensor import from_data
from shim_torch._impl.tensor.uninitialized import fixed

_HIDDEN: dict[str, Any] = {"function": False, "method": False}
_FUNCTION: dict[str, Any] = {"method": False}


composite("detach(Tensor(a) self) -> Tensor(a)", **_FUNCTION, batching="pointwise")(lambda self: self.detach())
composite("detach_(Tensor(a!) self) -> Tensor(a!)", **_FUNCTION)(lambda self: self.detach_())
composite("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", **_HIDDEN)(
    lambda self, size, stride: self.as_strided(size, stride)
)
composite("lift(Tensor self) -> Tensor", **_HIDDEN)(lambda self: self)
composite("lift_fresh(Tensor(a) self) -> Tensor(a)", **_HIDDEN, batching="pointwise")(lambda self: self)
composite("lift_fresh_copy(Tensor self) -> Tensor", **_HIDDEN)(lambda self: self.clone())
composite("fill.Scalar(Tensor self, Scalar value) -> Tensor", **_FUNCTION, expanded="same_value")(
    lambda self, value: self.clone().fill_(value)
)
composite("fill.Tensor(Tensor self, Tensor value) -> Tensor", **_FUNCTION, expanded="same_value")(
    lambda self, value: self.clone().fill_(value)
)
composite("item(Tensor self) -> Scalar", **_HIDDEN)(lambda self: self.item())
composite("_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool", method=False)(
    lambda self, other: self.device.type == other.device.type and self.layout == other.layout
)
composite("is_same_size(Tensor self, Tensor other) -> bool", reads_math_bits=True)(
    lambda self, other: self.shape == other.shape
)
composite("is_nonzero(Tensor self) -> bool")(lambda self: bool(self))
composite("_pin_memory(Tensor self, Device? device=None) -> Tensor", **_HIDDEN)(lambda self, device: self.pin_memory())
composite("__and__.Tensor(Tensor self, Tensor other) -> Tensor", **_HIDDEN, numbers="any")(
    lambda self, other: self & other
)
composite("__and__.Scalar(Tensor self, Scalar other) -> Tensor", **_HIDDEN, numbers="any")(
    lambda self, other: self & other
)
composite("__or__.Tensor(Tensor self, Tensor other) -> Tensor", **_HIDDEN, numbers="any")(
    lambda self, other: self | other
)
composite("__or__.Scalar(Tensor self, Scalar other) -> Tensor", **_HIDDEN, numbers="any")(
    lambda self, other: self | other
)
composite("__xor__.Tensor(Tensor self, Tensor other) -> Tensor", **_HIDDEN, numbers="any")(
    lambda self, other: self ^ other
)
composite("_shape_as_tensor(Tensor self) -> Tensor", **_FUNCTION)(lambda self: from_data.tensor(list(self.shape)))
composite("_is_all_true(Tensor self) -> Tensor")(lambda self: self.all())
composite("_is_any_true(Tensor self) -> Tensor")(lambda self: self.any())
composite("_stack(Tensor[] tensors, int dim=0) -> Tensor", **_FUNCTION)(lambda tensors, dim: torch.stack(tensors, dim))
composite("is_set_to(Tensor self, Tensor tensor) -> bool", function=False)(
    lambda self, tensor: (
        self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )
)


@composite("is_non_overlapping_and_dense(Tensor self) -> bool", **_HIDDEN)
def is_non_overlapping_and_dense(self):
    """Whether the elements fill a piece of memory without holes and overlaps, in some order of the dims."""
    expected = 1
    for stride, size in sorted(zip(self.stride(), self.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


@composite("_local_scalar_dense(Tensor self) -> Scalar", **_HIDDEN)
def _local_scalar_dense(self):
    """The first element."""
    if self.numel() == 0:
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return (self if self.dim() == 0 else self.reshape(-1)[0]).item()


# Splits whose parts share memory but do not count as views of one tensor.
_UNSAFE: dict[str, Any] = {"grad": {"self": lambda g, dim: torch.cat(g, dim)}}


def _unsafe(parts: Any) -> tuple[Any, ...]:
    return tuple(t.data for t in parts)  # with a count of writes of their own


direct("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", **_UNSAFE, batching="along_dim")(
    lambda self, chunks, dim: _unsafe(self.chunk(chunks, dim))
)
direct("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", **_UNSAFE, batching="along_dim")(
    lambda self, split_size, dim: _unsafe(self.split(split_size, dim))
)
direct("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", **_UNSAFE)(
    lambda self, split_sizes, dim: _unsafe(self.split(list(split_sizes), dim))
)


def _layout_fault(layout: Any) -> str:
    for i, d in enumerate(layout):
        if not 0 <= d < len(layout):
            return (
                f"Dimension out of range (expected to be between 0 and {len(layout) - 1}, but got {d} at index {i}).  NB: negative "
                "dims not currently supported; file an issue if you want it."
            )
    return "Duplicate dim not allowed"


@composite(
    "empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    **_FUNCTION,
)
def empty_permuted(size, physical_layout, dtype, layout, device, pin_memory):
    """A tensor of unset values whose dims lie in memory in the order ``physical_layout``."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)} is not "
            f"equal to len(physical_layout) = {len(physical_layout)}"
            if len(size) != len(physical_layout)
            else _layout_fault(physical_layout)
        )
    raw = fixed(_core.empty_tensor(tuple(size[d] for d in physical_layout), dtype=dtype, device=device))
    back = [0] * len(size)
    for place, d in enumerate(physical_layout):
        back[d] = place
    return raw.permute(back)


@composite(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out=True,
    **_FUNCTION,
    autocast="float32_cuda",
)
def frobenius_norm(self, dim, keepdim):
    """The square root of the sum of squares over ``dim``; a real dtype."""
    return aten.linalg_vector_norm(self, 2, dim, keepdim)


@composite("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", out=True, **_FUNCTION, autocast="float32_cuda")
def nuclear_norm(self, keepdim):
    """The sum of the singular values of each matrix (*, M, N); a real dtype."""
    return aten.linalg_matrix_norm(self, "nuc", (-2, -1), keepdim)


@composite(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    out=True,
    **_FUNCTION,
    autocast="float32_cuda",
)
def nuclear_norm_dim(self, dim, keepdim):
    """The sum of the singular values of the matrices that two dims span; a real dtype."""
    return aten.linalg_matrix_norm(self, "nuc", dim, keepdim)


# --- losses' halves -------------------------------------------------------------------------------------------------


def _spread_mean(g: Any, count: int, reduction: int) -> Any:
    return g / count if reduction == 1 else g


@composite("mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", **_HIDDEN)
def mse_loss_backward(grad_output, self, target, reduction):
    """The gradient of mse_loss by ``self``; ``reduction``: 0 none, 1 mean, 2 sum."""
    return _spread_mean(grad_output * 2 * (self - target), self.numel(), reduction)


def _nll_parts(self: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """The classes' places, which targets count, and their weights."""
    dim = 1 if self.dim() > 1 else 0
    counted = target != ignore_index
    if target.numel() and target.device.type == "cpu" and type(target) is _core.Tensor:
        bad = counted & ((target < 0) | (target >= self.size(dim)))
        if bool(bad.any()):
            raise IndexError(f"Target {int(target[bad].reshape(-1)[0])} is out of bounds.")
    place = target.masked_fill(~counted, 0)
    scale = counted.to(self.dtype) if weight is None else weight[place] * counted.to(weight.dtype)
    return place.unsqueeze(dim), dim, scale


@composite(
    "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
    **_HIDDEN,
)
def nll_loss_forward(self, target, weight, reduction, ignore_index):
    """The negative log likelihood loss, and the sum of the weights of the targets that count (0 without reduction).

    Shapes:  self (C,) or (N, C), log-probabilities; target () or (N,), int64; weight (C,)
    Reduction: 0 none, 1 weighted mean, 2 sum; targets of ``ignore_index`` do not count
    Errors:  IndexError on the CPU for a target that is no class
    """
    place, dim, scale = _nll_parts(self, target, weight, ignore_index)
    loss = -self.gather(dim, place).squeeze(dim) * scale
    total = scale.sum()
    if reduction == 0:
        return loss, self.new_zeros(())
    return (loss.sum() / total if reduction == 1 else loss.sum()), total


@composite(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    foreseen="any",
    **_HIDDEN,
)
def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """The gradient of nll_loss by ``self``; ``total_weight`` is the second result of nll_loss_forward."""
    place, dim, scale = _nll_parts(self, target, weight, ignore_index)
    share = grad_output / total_weight if reduction == 1 else grad_output
    return self.new_zeros(self.shape).scatter(dim, place, (-(share * scale)).unsqueeze(dim))


@composite(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)", **_FUNCTION
)
def embedding_renorm_(self, indices, max_norm, norm_type):
    """Scales the rows that ``indices`` names down to norm ``max_norm`` where they exceed it."""
    rows = indices.reshape(-1).unique()
    with no_grad():
        chosen = self[rows]
        norms = aten.linalg_vector_norm(chosen, norm_type, (1,), True)
        self[rows] = torch.where(norms > max_norm, chosen * (max_norm / (norms + 1e-7)), chosen)
    return self


@composite("dequantize.self(Tensor self) -> Tensor")
def dequantize(self):
    """float32: no tensor here is quantized."""
    return self.to(_core.float32)


@composite("dequantize.tensors(Tensor[] tensors) -> Tensor[]", method=False)
def dequantize_tensors(tensors):
    """The values of each quantized tensor."""
    return [t.dequantize() for t in tensors]


@composite("prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", **_HIDDEN)
def convert_element_type(a, dtype):
    """A copy in another dtype."""
    return a.to(dtype, copy=True)


@composite(
    "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
    method=False,
)
def _assert_tensor_metadata(a, size, stride, dtype, device, layout):
    """RuntimeError unless the tensor has what is given."""
    layouts = {_core.strided: "Strided", _core.sparse_coo: "Sparse", _core.sparse_csr: "SparseCsr"}
    checks: tuple[tuple[str, Any, Any, Any], ...] = (
        ("sizes", size, list(a.shape) if size is not None else None, list),
        ("strides", stride, list(a.stride()) if stride is not None else None, list),
        ("dtype", dtype, a.dtype, _core.scalar_name),
        ("device", device, a.device, str),
        ("layout", layout, a.layout, lambda kind: layouts.get(kind, str(kind))),
    )
    for name, expected, got, shown in checks:
        if expected is not None and shown(expected) != shown(got):
            found = type_word(got) if name == "dtype" else shown(got)
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {shown(expected)}, Got: {found}")
