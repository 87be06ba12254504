"""Operators of three operands: addcmul, addcdiv, lerp, where."""

from __future__ import annotations

import warnings

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import conjugate, kept
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import broadcast, promote, type_name, type_word


def _tensors3(self, tensor1, tensor2):
    return promote(self, tensor1, tensor2)


@op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    native="addcmul",
    shape=broadcast,
    dtype=_tensors3,
    inplace=True,
    out=True,
    grad={
        "self": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conjugate(tensor2 if value == 1 else tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conjugate(tensor1 if value == 1 else tensor1 * value),
    },
    refuses=(("b", "addcmul_cpu_out"),),
    autocast="promote_cuda",
    old_orders=("self value tensor1 tensor2",),
)
def addcmul(xp, self, tensor1, tensor2, value):
    """input + ``value`` · tensor1 · tensor2; all three broadcast and are promoted, bool is refused."""
    return self + self.dtype.type(value) * tensor1 * tensor2


def _addcdiv_dtype(self, tensor1, tensor2):
    if not any(t.dtype.is_floating_point or t.dtype.is_complex for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division "
            "of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
        )
    return promote(self, tensor1, tensor2)


@op(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    native="addcdiv",
    shape=broadcast,
    dtype=_addcdiv_dtype,
    inplace=True,
    out=True,
    grad={
        "self": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conjugate(value) / conjugate(tensor2),
        "tensor2": lambda g, tensor1, tensor2, value: -g * conjugate(value * tensor1 / (tensor2 * tensor2)),
    },
    autocast="promote_cuda",
    old_orders=("self value tensor1 tensor2",),
)
def addcdiv(xp, self, tensor1, tensor2, value):
    """input + ``value`` · tensor1 / tensor2; all three broadcast and are promoted.

    RuntimeError where tensor1 and tensor2 are integers.
    """
    return self + self.dtype.type(value) * (tensor1 / tensor2)


def _lerp_dtype(self, end, weight):
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, _core.TensorBase) and t.dtype != self.dtype:
            raise RuntimeError(
                f"expected dtype {type_word(self.dtype)} for `{name}` but got dtype {type_word(t.dtype)}"
            )
    return self.dtype


@op(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    gradient_name="LerpBackward1",
    native="lerp",
    shape=broadcast,
    dtype=_lerp_dtype,
    inplace=True,
    out=True,
    grad={
        "self": lambda g, weight: g * conjugate(1 - weight),
        "end": lambda g, weight: g * conjugate(weight),
        "weight": lambda g, self, end: g * conjugate(end - self),
    },
    one_dtype=True,
    refuses=(("bi", "lerp_kernel_tensor"),),
    batching="loop",
)
def lerp(xp, self, end, weight):
    """input + weight · (end - input): ``input`` for the weight 0, ``end`` for 1.

    Shapes:  all three broadcast; the weight may be a number
    Dtypes:  floating or complex, the same for all (RuntimeError)
    """
    return xp.where(xp.abs(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))


@op(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    gradient_name="LerpBackward0",
    native="lerp",
    shape=broadcast,
    dtype=_lerp_dtype,
    inplace=True,
    out=True,
    grad={"self": lambda g, weight: g * conjugate(1 - weight), "end": lambda g, weight: g * conjugate(weight)},
    one_dtype=True,
    refuses=(("bi", "lerp_kernel_scalar"),),
    batching="loop",
)
def lerp_scalar(xp, self, end, weight):
    """input + weight · (end - input) with a number as weight."""
    w = self.dtype.type(weight)
    return self + w * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - w)


def _where_dtype(condition, self, other):
    if condition.dtype is _core.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
            "PyTorch. Use a boolean condition instead.",
            stacklevel=2,
        )
    elif condition.dtype is not _core.bool:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {type_name(condition.dtype)}"
        )
    dtype = promote(self, other)
    for x in (self, other):
        if not isinstance(x, _core.TensorBase):
            _core.check_fits(x, dtype)
    return dtype


@op(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    foreseen="any",
    shape=broadcast,
    dtype=_where_dtype,
    keep=("condition",),
    out=True,
    native="where",
    method=False,
    grad={
        "self": lambda g, condition: kept(g, condition),
        "other": lambda g, condition: g.masked_fill(condition.bool(), 0),
    },
    numbers="not_first",
    out_dtype="Expected out type to be {R} but got {O}",
)
def where(xp, condition, self, other):
    """The elements of ``input`` where the condition holds, else those of ``other``.

    Shapes:  all three broadcast; input and other may be numbers
    Dtypes:  condition bool (uint8 with a warning, others raise RuntimeError); the others are promoted
    """
    return xp.where(condition.astype(bool), self, other)
