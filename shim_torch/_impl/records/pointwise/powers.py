"""Powers of tensors and numbers."""

from __future__ import annotations

import math

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import conjugate, zeros_as
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse
from shim_torch._impl.table.rules import broadcast, promote, resized_out, type_name


def _pow_self(g, self, exponent):
    if not isinstance(exponent, _core.Tensor):
        if exponent == 0:
            return zeros_as(g)
        return g * conjugate(exponent * self.pow(exponent - 1))
    zero = exponent == 0
    slope = g * conjugate(exponent * self.pow(exponent - 1))
    return torch.where(zero, torch.zeros_like(slope), slope)


def _not_negative(x):
    return (x.real if isinstance(x, complex) or (hasattr(x, "is_complex") and x.is_complex()) else x) >= 0


def _log(x, complex_too):
    """The logarithm of a number: -inf of zero; of what is real and negative a complex one or NaN."""
    if isinstance(x, complex) or (complex_too and x < 0):
        import cmath

        return cmath.log(x) if x else complex(-math.inf, 0)
    return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)


def _pow_exponent(g, self, exponent, result):
    if not isinstance(self, _core.Tensor):
        slope = g * conjugate(result * _log(self, result.is_complex()))
        return torch.where(_not_negative(exponent), torch.zeros_like(slope), slope) if self == 0 else slope
    mask = (self == 0) & _not_negative(exponent)
    slope = g * conjugate(result * self.to(result.dtype).log())  # of a complex result: negative bases have logarithms
    return torch.where(mask, torch.zeros_like(slope), slope)


def _pow_dtype(self, exponent):
    dtype = promote(self, exponent)
    if not isinstance(exponent, bool):
        refuse(dtype, ("b", "pow"))
    if isinstance(exponent, int) and exponent < 0 and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return dtype


@op(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    shape=broadcast,
    dtype=_pow_dtype,
    inplace=True,
    out=True,
    native="pow",
    grad={"self": _pow_self, "exponent": _pow_exponent},
    gradient_name="PowBackward0/PowBackward1/PowBackward2",
    symbol="pow",
    autocast="float32_cuda",
    numbers="not_all",
    number_overloads=("Tensor_Scalar", "Scalar", "Scalar"),
)
def pow_(xp, self, exponent):
    """input ** exponent.

    Shapes:  broadcast; either may be a number
    Dtypes:  promoted; bool only with True or False as the exponent
    Errors:  RuntimeError "Integers to negative integer powers are not allowed." where the exponent is a number
    """
    if self.dtype.kind == "b":
        return xp.logical_or(self, xp.logical_not(exponent))
    if self.dtype.kind == "u":
        return self**exponent
    if self.dtype.kind in "iu":
        if exponent.size == 1 and int(exponent.reshape(-1)[0]) < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        negative = exponent < 0
        return xp.where(
            negative,
            xp.where(xp.abs(self) == 1, self ** xp.abs(exponent % 2), 0),
            self ** xp.where(negative, 0, exponent),
        ).astype(self.dtype)
    return xp.power(self, exponent)


def _pow_scalar_dtype(self, exponent):
    dtype = promote(self, exponent)
    refuse(dtype, ("b", "pow"))
    return dtype


@op(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    native="number_pow",
    shape=lambda exponent: exponent.shape,
    dtype=lambda self, exponent: _pow_scalar_dtype(self, exponent),
    out=True,
    method=False,
    grad={"exponent": _pow_exponent},
    gradient_name="PowBackward2",
    pointwise=True,
    autocast="float32_cuda",
    numbers="not_all",
)
def pow_scalar(xp, self, exponent):
    """A number to the power of each exponent."""
    return pow_(xp, xp.asarray(self).astype(exponent.dtype), exponent)


def _doubled(x):
    """A double, or complex double, of a tensor or number."""
    if isinstance(x, _core.TensorBase):
        return x.to(_core.complex128 if x.is_complex() else _core.float64)
    return x


@composite(
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    pointwise=True,
    number_overloads=("Tensor_Scalar", "Scalar", "Scalar"),
    numbers="not_all",
    out_error_name="pow",
)
def float_power(self, exponent):
    """input ** exponent in float64, or complex128 where either is complex; tensors broadcast, one may be a number."""
    return torch.pow(_doubled(self), _doubled(exponent))


@composite(
    "float_power.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)",
    method=False,
    pointwise=True,
    number_overloads=("Tensor_Scalar", "Scalar", "Scalar"),
    numbers="not_all",
)
def float_power_out(self, exponent, out):
    """The same, written to ``out``, which must have the result's dtype (RuntimeError)."""
    made = float_power(self, exponent)
    if out.dtype != made.dtype:
        raise RuntimeError(
            f"the output given to float_power has dtype {type_name(out.dtype)} but the operation's result requires dtype "
            f"{type_name(made.dtype)}"
        )
    if _core.is_grad_enabled() and (made.requires_grad or out.requires_grad):
        raise RuntimeError(
            "pow(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    return resized_out(out, made.shape).copy_(made)
