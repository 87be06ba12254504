"""Filling and picking by masks, the places of what is not zero, and one-hot rows."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import speaks_for_itself
from shim_torch._impl.table.arguments import need_bool, need_tensor
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import broadcast, holding, no_meta_kernel, type_name


def _mask_shape(self, mask):
    if mask.dtype != _core.bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    return _core.broadcast_shapes([self.shape, mask.shape])


@op(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    foreseen="any",
    gradient_name="MaskedFillBackward1",
    inplace=True,
    function=True,
    shape=_mask_shape,
    dtype=lambda self: self.dtype,
    keep=("mask", "value"),
    grad={"self": lambda g, mask: g.masked_fill(mask, 0), "value": lambda g, mask: g.masked_fill(~mask, 0).sum()},
    pointwise=True,
    expanded="tensor[mask] = scalar",
    values="unchecked",
)
def masked_fill_tensor(xp, self, mask, value):
    """``input`` with a number or 0-D tensor where the bool ``mask`` is true; the two broadcast, the dtype stays."""
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value.dtype.kind == "c" != self.dtype.kind:
        if bool(value.imag != 0):
            name = "int64_t" if self.dtype.kind in "iu" else "float" if self.dtype.itemsize == 4 else "double"
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        value = value.real
    return xp.where(mask, value.astype(self.dtype), self)


@op(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    foreseen="any",
    gradient_name="MaskedFillBackward0",
    inplace=True,
    function=True,
    shape=_mask_shape,
    dtype=holding,
    keep=("mask",),
    native="masked_fill",
    grad={"self": lambda g, mask: g.masked_fill(mask, 0)},
    pointwise=True,
    expanded="tensor[mask] = scalar",
    values="unchecked",
)
def masked_fill(xp, self, mask, value):
    """``input`` with the number ``value``, which its dtype must hold, where the bool ``mask`` is true."""
    return xp.where(mask, xp.asarray(value).astype(self.dtype), self)


@composite(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    gradient_name="MaskedSelectBackward0",
    out=True,
    native="masked_select",
    dynamic_shape=True,
    out_dtype="masked_select(): self and result must have the same scalar type",
    overlap="refused",
)
def masked_select(self, mask):
    """The elements of ``input`` where the bool ``mask`` is true, 1-D and in row-major order; the two broadcast."""
    if mask.dtype != _core.bool:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, but got {mask.dtype}")
    if self.is_meta:
        raise no_meta_kernel("masked_select")
    shape = _core.broadcast_shapes([self.shape, mask.shape])
    return self.expand(shape)[mask.expand(shape)]


@op(
    "_nonzero(Tensor self) -> Tensor",
    native="_nonzero",
    function=False,
    method=False,
    module="_C",
    dtype=lambda self: (None, _core.int64),
    dynamic_shape=True,
)
def _nonzero(xp, self):
    """A row for each dim, so that the indices of one dim lie side by side."""
    if self.ndim == 0:
        return xp.zeros((0, int(bool(self))), "int64")
    return xp.stack(xp.nonzero(self), axis=0).astype("int64")


@composite("nonzero(Tensor self) -> Tensor", out=True, function=False, method=False)
def nonzero(self):
    """The indices of the elements that are not zero, in row-major order: (n, number of dims), int64."""
    if self.is_meta:
        raise NotImplementedError(
            "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
            "implementation does not exist. This implementation returns a fake value, assuming all elements of the tensor are "
            "non-zero. To enable this registration, please set "
            "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
        )
    return _core.transpose(aten._nonzero(self), 0, 1)


def nonzero_function(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of the nonzero elements, (n, dims) int64; ``as_tuple``: one tensor a dim."""
    need_bool(as_tuple, "nonzero", "as_tuple", None)
    if out is not None:
        need_tensor(out, "nonzero", "out", None)
    if out is not None and as_tuple:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if out is not None and out.dtype != _core.int64:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{type_name(out.dtype)}"
        )
    if out is not None and out.device != input.device:
        raise RuntimeError(
            f"nonzero: Expected out and input to be on the same device, but got out on {out.device} and input on {input.device}"
        )
    indices = aten.nonzero(input)
    if not as_tuple:
        if out is None:
            return indices
        return (out if out.shape == indices.shape else out.resize_(indices.shape)).copy_(indices)
    if input.dim() == 0:  # one place if it is not zero
        return (indices.new_zeros((indices.size(0),)),)
    return indices.unbind(1)


@composite("where(Tensor condition) -> Tensor[]", foreseen="any", method=False, numbers="not_first")
def where_condition(condition):
    """The indices of the elements that are not zero: an int64 tensor (n,) for each dim."""
    return nonzero_function(condition, as_tuple=True)


def _masked_source_grad(g, mask, source_shape):
    count = math.prod(source_shape)
    if speaks_for_itself(g, mask):  # of a size that does not depend on values; what is not used goes behind the end
        where = mask.expand_as(g).reshape(-1)
        place = (where.cumsum(0) - 1).masked_fill(~where, count)
        return g.new_zeros(count + 1).index_add(0, place, g.reshape(-1))[:count].view(source_shape)
    used = g.masked_select(mask.expand_as(g))
    return torch.cat([used, g.new_zeros(count - used.numel())]).view(source_shape)


def _masked_scatter_dtype(self, mask, source):
    if self.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{_core.scalar_name(self.dtype)} and {_core.scalar_name(source.dtype)}"
        )
    if mask.dtype != _core.bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {_core.scalar_name(mask.dtype)}"
        )
    return self.dtype


@op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", inplace=True, native="masked_scatter", dtype=_masked_scatter_dtype,
    shape=lambda self, mask: broadcast(self, mask), keep=("self", "mask", "source"),
    grad={"self": lambda g, mask: g.masked_fill(mask, 0), "source": _masked_source_grad})  # fmt: skip
def masked_scatter(xp, self, mask, source):
    """``input`` with the elements of ``source``, one after another, where the bool ``mask`` is true.

    Dtypes:  one for both tensors
    Errors:  RuntimeError where ``source`` has fewer elements than the mask has true places
    """
    shape = xp.broadcast_shapes(self.shape, mask.shape) if hasattr(xp, "broadcast_shapes") else (self * mask).shape
    out, where = xp.broadcast_to(self, shape).copy(), xp.broadcast_to(mask, shape)
    count = int(where.sum())
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    if out.ndim == 0:
        return source.reshape(-1)[0] if count else out
    out[where] = source.reshape(-1)[:count]
    return out


@composite("argwhere(Tensor self) -> Tensor")
def argwhere(self):
    """The indices of the elements that are not zero, in row-major order: (n, number of dims), int64."""
    return aten.nonzero(self)


@op("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", keep=("self",),
    shape=lambda self, size: (size, len(self.shape)), dtype=lambda self: (None, _core.int64))  # fmt: skip
def nonzero_static(xp, self, size, fill_value):
    """The first ``size`` rows of ``nonzero``, filled up with ``fill_value``: (size, number of dims), int64."""
    found = xp.argwhere(self)[:size] if self.ndim else xp.zeros((int(bool(self)), 0), "int64")[:size]
    out = xp.full((size, self.ndim), fill_value, "int64")
    out[: found.shape[0]] = found
    return out


@op("masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", function=False, keep=("mask",),
    shape=lambda sizes: sizes, dtype=lambda grad_output: grad_output.dtype,
    grad={"grad_output": lambda g, mask, grad_output_shape: g.new_zeros(grad_output_shape).masked_scatter(mask, g)})  # fmt: skip
def masked_scatter_backward(xp, grad_output, mask, sizes):
    """The gradient of ``masked_scatter`` by its source: ``grad_output`` where ``mask`` is true, then zeros."""
    used = grad_output[xp.broadcast_to(mask, grad_output.shape)].reshape(-1)
    out = xp.zeros(tuple(sizes), grad_output.dtype)
    out.reshape(-1)[: used.size] = used
    return out


@composite("one_hot(Tensor self, int num_classes=-1) -> Tensor", module="nn.functional", method=False, native="one_hot",
    values="checked")  # fmt: skip
def one_hot(self, num_classes):
    """int64 rows with a 1 where ``self`` says. On CUDA given classes are not checked, which would wait for the GPU: a class that
    there is not has no 1."""
    if self.is_meta and self.dtype == _core.int64 and num_classes >= 0:
        return torch.empty((*self.shape, num_classes), dtype=_core.int64, device="meta")
    if not self.is_cuda or self.dtype != _core.int64 or not self.numel():
        return aten._one_hot(self, int(self.max()) + 1 if self.is_meta and num_classes == -1 else num_classes)
    if num_classes == -1:
        num_classes = int(self.max()) + 1
    if num_classes > 0 and _core.unseen_on_cuda(self):
        return shim.one_hot(self, num_classes)
    classes = torch.arange(num_classes, device=self.device)
    return (self.unsqueeze(-1) == classes).to(_core.int64)


@op(
    "shim::one_hot(Tensor classes, int count) -> Tensor",
    shape=lambda classes, count: (*classes.shape, count),
    dtype=lambda classes: (None, _core.int64),
    keep=("classes",),
    native="one_hot_of",
    function=False,
)
def one_hot_rows(xp, classes, count):
    """Rows with a 1 at each class; of a class that is none of them without."""
    return (classes[..., None] == xp.arange(count)).astype("int64")


@op("_one_hot(Tensor self, int num_classes) -> Tensor", function=False, method=False, keep=("self",),
    dtype=lambda self: (None, _core.int64), values="checked")  # fmt: skip
def _one_hot(xp, self, num_classes):
    if self.dtype != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if self.size and int(self.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(self.max()) + 1
    elif self.size and int(self.max()) >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (self[..., None] == xp.arange(num_classes)).astype("int64")
