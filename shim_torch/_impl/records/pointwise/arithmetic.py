"""Sums, products, quotients and remainders of two operands."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import conjugate, zeros_as
from shim_torch._impl.records.shared.pointwise import binary_op
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import broadcast, int_to_float, not_implemented, promote, underived


def _is_bool(x):
    return isinstance(x, bool) or (isinstance(x, _core.TensorBase) and x.dtype is _core.bool)


def _alpha_dtype(self, other, alpha):
    """The promoted dtype of a sum, which ``alpha`` must fit."""
    dtype = promote(self, other)
    if isinstance(alpha, bool) and dtype is not _core.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, complex)) and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return dtype


def _no_bool_minus(self, other, alpha):
    if _is_bool(self) and _is_bool(other):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if _is_bool(self) or _is_bool(other):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )
    return _alpha_dtype(self, other, alpha)


def _scaled(g, alpha):
    return g if alpha == 1 else g * alpha


def _scaled_grad(g, alpha):
    return _scaled(g, alpha.conjugate() if isinstance(alpha, complex) else alpha)


@op(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    foreseen="any",
    shape=broadcast,
    dtype=_alpha_dtype,
    inplace=True,
    out=True,
    native="add",
    grad={"self": lambda g: g, "other": lambda g, alpha: _scaled_grad(g, alpha)},
    symbol="add",
    numbers="any",
    old_orders=("self alpha other",),
)
def add(xp, self, other, alpha):
    """input + ``alpha`` · other; of two bools the logical or.

    Shapes:  broadcast; either may be a number
    Dtypes:  promoted; ``alpha`` must be of a kind that the result's dtype holds (RuntimeError)
    """
    if self.dtype.kind == "b":
        return xp.logical_or(self, other) if alpha else xp.logical_or(self, False)
    return self + (other if alpha == 1 else other * self.dtype.type(alpha))


@op(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    shape=broadcast,
    dtype=_no_bool_minus,
    inplace=True,
    out=True,
    native="sub",
    aliases=("subtract",),
    grad={"self": lambda g: g, "other": lambda g, alpha: -_scaled_grad(g, alpha)},
    gradient_name="SubBackward0/SubBackward0/SubBackward0/RsubBackward1",
    symbol="sub",
    numbers="any",
    old_orders=("self alpha other",),
)
def sub(xp, self, other, alpha):
    """input - ``alpha`` · other.

    Shapes:  broadcast; either may be a number
    Dtypes:  promoted, bool refused (RuntimeError); ``alpha`` must be of a kind that the result's dtype holds
    """
    return self - (other if alpha == 1 else other * self.dtype.type(alpha))


@composite(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    gradient_name="RsubBackward1/RsubBackward0",
    method=False,
    pointwise=True,
    numbers="not_first",
)
def rsub(self, other, alpha):
    """other - ``alpha`` · input: ``torch.sub`` with its operands exchanged; bool is refused."""
    if isinstance(other, _core.Tensor):
        return torch.sub(other, self, alpha=alpha)
    _no_bool_minus(self, other, alpha)
    wide = self.to(_core.result_type(self, other))  # before the sign changes: unsigned ones have none
    return -_scaled(wide, alpha) + other


binary_op(
    "mul",
    lambda xp, self, other: self * other,
    {"self": lambda g, other: g * conjugate(other), "other": lambda g, self: g * conjugate(self)},
    foreseen="any",
    aliases=("multiply",),
    symbol="mul",
    numbers="any",
)


@op(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    foreseen="any",
    shape=broadcast,
    dtype=int_to_float,
    inplace=True,
    out=True,
    native="div",
    aliases=("divide", "true_divide"),
    gradient_name="DivBackward0",
    grad={
        "self": lambda g, other: g / conjugate(other),
        "other": lambda g, self, other: -g * conjugate(self / other / other),
    },
    symbol="truediv",
    numbers="any",
)
def div(xp, self, other):
    """input / other, or with ``rounding_mode`` a whole number: "trunc" rounds towards 0, "floor" downwards.

    Shapes:  broadcast; either may be a number
    Dtypes:  promoted; plain quotients of integers and bool have the default dtype, rounded ones refuse bool and complex
    Errors:  RuntimeError "ZeroDivisionError" for integers with ``rounding_mode`` on the CPU
    """
    return self / other


def _mode_dtype(self, other, rounding_mode):
    if rounding_mode is None:
        return int_to_float(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    dtype = promote(self, other)
    if dtype is _core.bool or dtype.is_complex:
        raise not_implemented(f"div_{rounding_mode}_cpu", dtype)
    return dtype


def _div_mode_self(g, other, rounding_mode):
    return g / other if rounding_mode is None else zeros_as(g)


def _div_mode_other(g, self, other, rounding_mode):
    return -g * (self / other / other) if rounding_mode is None else zeros_as(g)


@op(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    foreseen="any",
    shape=broadcast,
    dtype=_mode_dtype,
    inplace=True,
    out=True,
    native="div_mode",
    aliases=("divide",),
    values="divides",
    grad={"self": _div_mode_self, "other": _div_mode_other},
    numbers="any",
)
def div_mode(xp, self, other, rounding_mode):
    """The quotient, rounded as ``rounding_mode`` says: None not at all, "trunc" towards 0, "floor" downwards."""
    if rounding_mode is None:
        return self / other
    if self.dtype.kind in "iu":
        _check_zero(xp, other)
        return self // other if rounding_mode == "floor" else _truncated(xp, self, other)
    return _floor_float(xp, self, other) if rounding_mode == "floor" else xp.trunc(self / other)


def _check_zero(xp, other):
    if bool((other == 0).any()):
        raise RuntimeError("ZeroDivisionError")


def _truncated(xp, a, b):
    q = a // b
    return q + ((q < 0) & (q * b != a)).astype(a.dtype)


def _floor_float(xp, a, b):
    """Floor of the exact quotient (via the remainder), as Python's // on floats."""
    return xp.where(b == 0, a / b, xp.floor_divide(a, b))


@op(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing(promote, ("bc", "div_floor_cpu")),
    inplace=True,
    out=True,
    native="floor_divide",
    values="divides",
    grad={"self": underived("floor_divide"), "other": underived("floor_divide")},
    gradient_name="torch::autograd::NotImplemented",
    symbol="floordiv",
    numbers="any",
    out_error_name="aten::floor_divide",
)
def floor_divide(xp, self, other):
    """The quotient rounded downwards, as Python's ``//``; it has no gradient.

    Shapes:  broadcast; either may be a number
    Dtypes:  promoted; bool and complex are refused
    Errors:  RuntimeError "ZeroDivisionError" for integers on the CPU; floats give an infinity or NaN
    """
    if self.dtype.kind in "iub":
        _check_zero(xp, other)
        return self // other
    return _floor_float(xp, self, other)


def _remainder_other(g, self, other):
    if not isinstance(self, _core.TensorBase):  # PyTorch's overload for a number has no formula
        underived("remainder")(g)
    return -g * _floored(self, other)


@op(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing(promote, ("bc", "remainder_cpu")),
    inplace=True,
    out=True,
    native="remainder",
    values="divides",
    grad={"self": lambda g: g, "other": lambda g, self, other: _remainder_other(g, self, other)},
    gradient_name="RemainderBackward0/RemainderBackward1/torch::autograd::NotImplemented",
    number_kernel=True,
    symbol="mod",
    number_overloads=("Scalar", "Scalar_Tensor"),
    numbers="not_all",
)
def remainder(xp, self, other):
    """input - floor(input / other) · other, as Python's ``%``: the sign is the divisor's.

    Shapes:  broadcast; one may be a number
    Dtypes:  promoted; bool and complex are refused
    Errors:  RuntimeError "ZeroDivisionError" for integers on the CPU; floats give NaN
    """
    if self.dtype.kind in "iu":
        _check_zero(xp, other)
    return xp.remainder(self, other)


def _floored(a, b):
    return torch.div(a, b, rounding_mode="floor")


@op(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing(promote, ("bc", "fmod_cpu")),
    inplace=True,
    out=True,
    native="fmod",
    values="divides",
    grad={"self": lambda g: g, "other": lambda g, self, other: -g * (self / other).trunc()},
    gradient_name="FmodBackward0/FmodBackward1",
    number_kernel=True,
    number_overloads=("Scalar",),
    numbers="not_first",
)
def fmod(xp, self, other):
    """input - trunc(input / other) · other, as C's fmod: the sign is the dividend's.

    Shapes:  broadcast; ``other`` may be a number
    Dtypes:  promoted; bool and complex are refused
    Errors:  RuntimeError "ZeroDivisionError" for integers on the CPU; floats give NaN
    """
    if self.dtype.kind in "iu":
        _check_zero(xp, other)
    return xp.fmod(self, other)
