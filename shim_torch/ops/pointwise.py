"""Pointwise arithmetic, powers, logarithms, trigonometry, rounding and bits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from native import _core

from ._record import composite, op
from ._refusals import refuse, refusing
from ._rules import (
    broadcast,
    fixed,
    int_to_float,
    not_implemented,
    promote,
    real_pair,
    same,
    same_dtype,
    type_name,
    underived,
)
from ._special import logaddexp, special

Formula = Callable[..., Any]


def _unary(name: str, body: Formula, grad: Formula | None, dtype: Any = int_to_float, **options: Any) -> None:
    options.setdefault("inplace", True)
    options.setdefault("out", True)
    options.setdefault("native", name)
    op(
        f"{name}(Tensor self) -> Tensor",
        shape=same,
        dtype=refusing(name, dtype),
        grad=None if grad is None else {"self": grad},
        **options,
    )(body)


def _f(function: str) -> Formula:
    def body(xp, self):
        return getattr(xp, function)(self)

    return body


def _special(function: str) -> Formula:
    def body(xp, self):
        return special(xp, function)(self)

    return body


def _zeros(g):
    return g.new_zeros(g.shape)


_unary("exp", _f("exp"), lambda g, result: g * result.conj())
_unary("exp2", _f("exp2"), lambda g, result: g * result.conj() * math.log(2))
_unary("expm1", _f("expm1"), lambda g, result: g * (result.conj() + 1))
_unary("log", _f("log"), lambda g, self: g / self.conj())
_unary("log2", _f("log2"), lambda g, self: g / (self.conj() * math.log(2)))
_unary("log10", _f("log10"), lambda g, self: g / (self.conj() * math.log(10)))
_unary("log1p", _f("log1p"), lambda g, self: g / (self + 1).conj())
_unary("sqrt", _f("sqrt"), lambda g, result: g / (2 * result.conj()))
_unary("rsqrt", lambda xp, self: 1 / xp.sqrt(self), lambda g, result: -0.5 * g * result.pow(3).conj())
_unary("reciprocal", lambda xp, self: 1 / self, lambda g, result: -g * (result * result).conj())
_unary("sin", _f("sin"), lambda g, self: g * self.cos().conj())
_unary("cos", _f("cos"), lambda g, self: g * -self.sin().conj())
_unary("tan", _f("tan"), lambda g, result: g * (1 + result * result).conj())
_unary("asin", _f("arcsin"), lambda g, self: g * (-self * self + 1).rsqrt().conj(), aliases=("arcsin",))
_unary("acos", _f("arccos"), lambda g, self: g * -(-self * self + 1).rsqrt().conj(), aliases=("arccos",))
_unary("atan", _f("arctan"), lambda g, self: g / (self * self + 1).conj(), aliases=("arctan",))
_unary("sinh", _f("sinh"), lambda g, self: g * self.cosh().conj())
_unary("cosh", _f("cosh"), lambda g, self: g * self.sinh().conj())
_unary("tanh", _f("tanh"), lambda g, result: g * (1 - result * result).conj())
_unary("asinh", _f("arcsinh"), lambda g, self: g * (self.pow(2) + 1).rsqrt().conj(), aliases=("arcsinh",))
_unary("acosh", _f("arccosh"), lambda g, self: g * (self.pow(2) - 1).rsqrt().conj(), aliases=("arccosh",))
_unary("atanh", _f("arctanh"), lambda g, self: g / (1 - self.pow(2)).conj(), aliases=("arctanh",))
_unary("erf", _special("erf"), lambda g, self: 2 / math.sqrt(math.pi) * (-(self * self)).exp() * g)
_unary("erfc", _special("erfc"), lambda g, self: -2 / math.sqrt(math.pi) * (-(self * self)).exp() * g)
_unary("erfinv", _special("erfinv"), lambda g, self: 0.5 * math.sqrt(math.pi) * self.erfinv().square().exp() * g)
_unary("lgamma", _special("lgamma"), lambda g, self: g * self.digamma())
_unary("digamma", _special("digamma"), lambda g, self: g * _aten().polygamma(1, self))


def _sinc(xp, self):  # CuPy's own is 1 where the argument is infinite
    turns = self * math.pi
    return xp.where(self == 0, 1, xp.sin(turns) / xp.where(self == 0, 1, turns))


_unary("sinc", _sinc, lambda g, self: g * _sinc_grad(self).conj())
_unary("deg2rad", _f("deg2rad"), lambda g: g * (math.pi / 180))
_unary("rad2deg", _f("rad2deg"), lambda g: g * (180 / math.pi))


def _sinc_grad(x):
    y = x * math.pi
    slope = (y * y.cos() - y.sin()) / (y * x)
    return slope.masked_fill(x == 0, 0.0)


@op(
    "sigmoid(Tensor self) -> Tensor",
    shape=same,
    dtype=int_to_float,
    inplace=True,
    out=True,
    native="sigmoid",
    grad={"self": lambda g, result: g * (result * (1 - result)).conj()},
)
def sigmoid(xp, self):
    e = xp.exp(-xp.abs(self)) if self.dtype.kind != "c" else None
    if e is None:
        return 1 / (1 + xp.exp(-self))
    return xp.where(self >= 0, 1 / (1 + e), e / (1 + e))


def _integers_unchanged(function: str) -> Formula:
    def body(xp, self):
        return self if self.dtype.kind in "iub" else getattr(xp, function)(self)

    return body


for _name, _np in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc")):
    _unary(_name, _integers_unchanged(_np), _zeros, same_dtype, aliases=("fix",) if _name == "trunc" else ())
_unary("round", _integers_unchanged("rint"), _zeros, same_dtype)
_unary("frac", lambda xp, self: self - xp.trunc(self), lambda g: g, same_dtype)
_unary("neg", lambda xp, self: -self, lambda g: -g, same_dtype, aliases=("negative",))


@composite("positive(Tensor(a) self) -> Tensor(a)")
def positive(self):
    refuse("positive", self.dtype)
    return self


_unary("square", lambda xp, self: self * self, lambda g, self: g * (2 * self).conj(), lambda self: _square_dtype(self))
_unary("sgn", lambda xp, self: _sign(xp, self), lambda g, self, result: _sgn_grad(g, self, result), same_dtype)
_unary("sign", lambda xp, self: _sign(xp, self), _zeros, same_dtype)
_unary("logical_not", _f("logical_not"), None, fixed("bool"))
_unary("bitwise_not", lambda xp, self: ~self, None, same_dtype)
_unary("signbit", _f("signbit"), None, fixed("bool"), inplace=False)
for _name in ("isnan", "isfinite", "isinf"):
    _unary(_name, _f(_name), None, fixed("bool"), inplace=False, out=False)
_unary("isposinf", _f("isposinf"), None, fixed("bool"), inplace=False)
_unary("isneginf", _f("isneginf"), None, fixed("bool"), inplace=False)
_unary("isreal", _f("isreal"), None, fixed("bool"), inplace=False, out=False)


def _square_dtype(self):
    return _core.int64 if self.dtype is _core.bool else self.dtype


def _sign(xp, x):
    """NaN has sign 0, as PyTorch says (x > 0) - (x < 0)."""
    if x.dtype.kind == "b":
        return x
    if x.dtype.kind == "c":
        size = xp.abs(x)
        return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size)).astype(x.dtype)
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sgn_grad(g, x, sgn):
    if not x.is_complex():
        return _zeros(g)
    size = x.abs()
    slope = g / size - (g / sgn).real * sgn / size
    return slope.masked_fill(size == 0, 0.0)


def _aten():
    import shim_torch

    return shim_torch.ops.aten


def _decimals_dtype(self, decimals):
    refuse("round.none" if decimals == 0 else "round.decimals", self.dtype)
    return self.dtype


@op(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    shape=same,
    dtype=_decimals_dtype,
    inplace=True,
    out=True,
    grad={"self": _zeros},
)
def round_decimals(xp, self, decimals):
    return xp.round(self, decimals)


def _abs_dtype(self):
    return self.dtype, self.dtype.to_real()


@op(
    "abs(Tensor self) -> Tensor",
    shape=same,
    dtype=refusing("abs", _abs_dtype),
    inplace=True,
    out=True,
    native="abs",
    grad={"self": lambda g, self: g * self.sgn()},
    aliases=("absolute",),
)
def abs_(xp, self):
    return self if self.dtype.kind == "b" else xp.abs(self)


@op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    shape=same,
    dtype=refusing("logit", int_to_float),
    inplace=True,
    out=True,
    grad={"self": lambda g, self, eps: _logit_grad(g, self, eps)},
)
def logit(xp, self, eps):
    x = self if eps is None else xp.clip(self, eps, 1 - eps)
    return xp.log(x / (1 - x))


def _logit_grad(g, x, eps):
    slope = g / (x * (1 - x))
    if eps is None:
        return slope.masked_fill((x < 0) | (x > 1), math.nan)
    return slope.masked_fill((x < eps) | (x > 1 - eps), 0.0)


@op(
    "_nan_to_num(Tensor self, float nan, float posinf, float neginf) -> Tensor",
    shape=same,
    dtype=same_dtype,
    function=False,
    method=False,
    grad={"self": lambda g, self: g * self.isfinite()},
)
def _nan_to_num(xp, self, nan, posinf, neginf):
    return xp.nan_to_num(self, nan=nan, posinf=posinf, neginf=neginf)


@composite(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", inplace=True, out=True
)
def nan_to_num(self, nan, posinf, neginf):
    """NaN as ``nan`` (zero), the infinities as given or as the dtype's largest and least numbers."""
    import shim_torch

    if not (self.is_floating_point() or self.is_complex()):
        return self.clone()
    if self.is_complex() and self.requires_grad and _core.is_grad_enabled():
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    info = shim_torch.finfo(self.dtype)
    most, least = info.max if posinf is None else posinf, info.min if neginf is None else neginf
    return _aten()._nan_to_num(self, 0.0 if nan is None else nan, most, least)


# --- two operands -------------------------------------------------------------------------------------------------------


def _binary(name: str, body: Formula, grad: dict[str, Formula] | None, dtype: Any = promote, **options: Any) -> None:
    options.setdefault("inplace", True)
    options.setdefault("out", True)
    options.setdefault("native", name)
    signature = options.pop("signature", f"{name}.Tensor(Tensor self, Tensor other) -> Tensor")
    op(signature, shape=broadcast, dtype=refusing(name, dtype), grad=grad, **options)(body)


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
    shape=broadcast,
    dtype=_alpha_dtype,
    inplace=True,
    out=True,
    native="add",
    grad={"self": lambda g: g, "other": lambda g, alpha: _scaled_grad(g, alpha)},
)
def add(xp, self, other, alpha):
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
)
def sub(xp, self, other, alpha):
    return self - (other if alpha == 1 else other * self.dtype.type(alpha))


@composite("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
def rsub(self, other, alpha):
    import shim_torch

    if isinstance(other, shim_torch.Tensor):
        return shim_torch.sub(other, self, alpha=alpha)
    _no_bool_minus(self, other, alpha)
    wide = self.to(_core.result_type(self, other))  # before the sign changes: unsigned ones have none
    return -_scaled(wide, alpha) + other


_binary(
    "mul",
    lambda xp, self, other: self * other,
    {"self": lambda g, other: g * _conj(other), "other": lambda g, self: g * _conj(self)},
    aliases=("multiply",),
)


def _conj(x):
    if isinstance(x, complex):
        return x.conjugate()
    return x.conj() if hasattr(x, "conj") and x.is_complex() else x


@op(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=int_to_float,
    inplace=True,
    out=True,
    native="div",
    aliases=("divide", "true_divide"),
    grad={"self": lambda g, other: g / _conj(other), "other": lambda g, self, other: -g * _conj(self / other / other)},
)
def div(xp, self, other):
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
    return g / other if rounding_mode is None else _zeros(g)


def _div_mode_other(g, self, other, rounding_mode):
    return -g * (self / other / other) if rounding_mode is None else _zeros(g)


@op(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    shape=broadcast,
    dtype=_mode_dtype,
    inplace=True,
    out=True,
    native="div_mode",
    aliases=("divide",),
    grad={"self": _div_mode_self, "other": _div_mode_other},
)
def div_mode(xp, self, other, rounding_mode):
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
    dtype=refusing("floor_divide", promote),
    inplace=True,
    out=True,
    native="floor_divide",
    grad={"self": underived("floor_divide"), "other": underived("floor_divide")},
)
def floor_divide(xp, self, other):
    if self.dtype.kind in "iub":
        _check_zero(xp, other)
        return self // other
    return _floor_float(xp, self, other)


def _remainder_other(g, self, other):
    if not isinstance(self, _core.TensorBase):  # PyTorch's overload for a number has no formula
        underived("remainder")(g)
    return -g * _floor(self, other)


@op(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing("remainder", promote),
    inplace=True,
    out=True,
    native="remainder",
    grad={"self": lambda g: g, "other": lambda g, self, other: _remainder_other(g, self, other)},
)
def remainder(xp, self, other):
    if self.dtype.kind in "iu":
        _check_zero(xp, other)
    return xp.remainder(self, other)


def _floor(a, b):
    import shim_torch

    return shim_torch.div(a, b, rounding_mode="floor")


@op(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing("fmod", promote),
    inplace=True,
    out=True,
    native="fmod",
    grad={"self": lambda g: g, "other": lambda g, self, other: -g * (self / other).trunc()},
)
def fmod(xp, self, other):
    if self.dtype.kind in "iu":
        _check_zero(xp, other)
    return xp.fmod(self, other)


def _pow_self(g, self, exponent):
    import shim_torch

    if not isinstance(exponent, shim_torch.Tensor):
        if exponent == 0:
            return _zeros(g)
        return g * _conj(exponent * self.pow(exponent - 1))
    zero = exponent == 0
    slope = g * _conj(exponent * self.pow(exponent - 1))
    return shim_torch.where(zero, shim_torch.zeros_like(slope), slope)


def _not_negative(x):
    return (x.real if isinstance(x, complex) or (hasattr(x, "is_complex") and x.is_complex()) else x) >= 0


def _pow_exponent(g, self, exponent, result):
    import shim_torch

    if not isinstance(self, shim_torch.Tensor):
        log = math.log(self) if self > 0 else (-math.inf if self == 0 else math.nan)
        slope = g * result * log
        return shim_torch.where(_not_negative(exponent), shim_torch.zeros_like(slope), slope) if self == 0 else slope
    mask = (self == 0) & _not_negative(exponent)
    slope = g * _conj(result * self.log())
    return shim_torch.where(mask, shim_torch.zeros_like(slope), slope)


def _pow_dtype(self, exponent):
    dtype = promote(self, exponent)
    refuse("pow", dtype)
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
)
def pow_(xp, self, exponent):
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
    refuse("pow", dtype)
    return dtype


@op(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    shape=lambda exponent: exponent.shape,
    dtype=lambda self, exponent: _pow_scalar_dtype(self, exponent),
    out=True,
    method=False,
    grad={"exponent": _pow_exponent},
)
def pow_scalar(xp, self, exponent):
    return pow_(xp, xp.asarray(self).astype(exponent.dtype), exponent)


def _wide(x):
    """A double, or complex double, of a tensor or number."""
    if isinstance(x, _core.TensorBase):
        return x.to(_core.complex128 if x.is_complex() else _core.float64)
    return x


@composite("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
def float_power(self, exponent):
    import shim_torch

    return shim_torch.pow(_wide(self), _wide(exponent))


@composite("float_power.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", method=False)
def float_power_out(self, exponent, out):
    made = float_power(self, exponent)
    if out.dtype != made.dtype:
        raise RuntimeError(
            f"the output given to float_power has dtype {type_name(out.dtype)} but the operation's result requires dtype "
            f"{type_name(made.dtype)}"
        )
    return (out if out.shape == made.shape else out.resize_(made.shape)).copy_(made)


def _pick_grads(better: str) -> dict[str, Formula]:
    def share(mine: str, theirs: str) -> Formula:
        def formula(g, self, other):
            import shim_torch

            a, b = (self, other) if mine == "self" else (other, self)
            wins = getattr(shim_torch, better)(a, b)
            zero = shim_torch.zeros_like(g)
            return shim_torch.where(wins, g, shim_torch.where(a == b, g / 2, zero))

        return formula

    return {"self": share("self", "other"), "other": share("other", "self")}


for _name, _better in (("maximum", "gt"), ("minimum", "lt"), ("fmax", "gt"), ("fmin", "lt")):
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=refusing(_name, promote),
        out=True,
        native=_name,
        grad=_pick_grads(_better),
    )((lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_name))

_FLOATS2: dict[str, tuple[str, dict[str, Formula]]] = {
    "atan2": (
        "arctan2",
        {
            "self": lambda g, self, other: g * other / (self * self + other * other),
            "other": lambda g, self, other: g * -self / (self * self + other * other),
        },
    ),
    "hypot": (
        "hypot",
        {"self": lambda g, self, result: g * (self / result), "other": lambda g, other, result: g * (other / result)},
    ),
    "logaddexp": (
        "logaddexp",
        {
            "self": lambda g, self, other: g / _conj(1 + (other - self).exp()),
            "other": lambda g, self, other: g / _conj(1 + (self - other).exp()),
        },
    ),
    "logaddexp2": (
        "logaddexp2",
        {
            "self": lambda g, self, other: g / (1 + (other - self).exp2()),
            "other": lambda g, self, other: g / (1 + (self - other).exp2()),
        },
    ),
    "nextafter": ("nextafter", {"self": lambda g: g, "other": _zeros}),
}


def _of_xp(name):
    return lambda xp, a, b: getattr(xp, name)(a, b)


for _name, (_np, _grads) in _FLOATS2.items():
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=refusing(_name, int_to_float if _name == "atan2" else promote),
        out=True,
        inplace=_name in ("atan2", "hypot", "nextafter"),
        grad=_grads,
        aliases=("arctan2",) if _name == "atan2" else (),
    )((lambda f: lambda xp, self, other: f(xp, self, other))(logaddexp if _name == "logaddexp" else _of_xp(_np)))


@op(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing("copysign", int_to_float),
    inplace=True,
    out=True,
    grad={"self": lambda g, self, result: g * (result / self).masked_fill(self == 0, 0.0), "other": _zeros},
)
def copysign(xp, self, other):
    return xp.copysign(self, other)


def _xlogy_self(g, self, other):
    if not isinstance(other, _core.TensorBase):
        return (g * (math.log(other) if other > 0 else -math.inf if other == 0 else math.nan)).masked_fill(
            self == 0, 0.0
        )
    return g * other.to(g.dtype).log().masked_fill((self == 0) & (other <= 0), 0.0)


@op(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing("xlogy", int_to_float),
    inplace=True,
    out=True,
    grad={
        "self": lambda g, self, other: _xlogy_self(g, self, other),
        "other": lambda g, self, other: g * self / other,
    },
)
def xlogy(xp, self, other):
    return xp.where((self == 0) & ~xp.isnan(other), 0, self * xp.log(other))


@op("gcd(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing("gcd", promote), inplace=True, out=True)
def gcd(xp, self, other):
    return xp.gcd(self, other)


@op("lcm(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing("lcm", promote), inplace=True, out=True)
def lcm(xp, self, other):
    return xp.lcm(self, other)


def _heaviside_dtype(self, values):
    refuse("heaviside", self.dtype)
    refuse("heaviside", values.dtype)
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return self.dtype


@op("heaviside(Tensor self, Tensor values) -> Tensor", shape=broadcast, dtype=_heaviside_dtype, inplace=True, out=True,
    grad={"self": underived("heaviside"), "values": underived("heaviside")})  # fmt: skip
def heaviside(xp, self, values):
    return xp.where(self == 0, values, (self > 0).astype(self.dtype))


@composite("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", inplace=True, out=True)
def ldexp(self, other):
    import shim_torch

    return self * shim_torch.pow(2.0, other)


for _name, _np in (
    ("bitwise_and", "bitwise_and"),
    ("bitwise_or", "bitwise_or"),
    ("bitwise_xor", "bitwise_xor"),
    ("bitwise_left_shift", "left_shift"),
    ("bitwise_right_shift", "right_shift"),
):
    _binary(_name, (lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_np), None)
for _name in ("logical_and", "logical_or", "logical_xor"):
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=lambda self, other: (promote(self, other), fixed("bool")()[1]),
        inplace=True,
        out=True,
        native=_name,
    )((lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_name))


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
    shape=broadcast,
    dtype=_where_dtype,
    keep=("condition",),
    out=True,
    native="where",
    method=False,
    grad={"self": lambda g, condition: g * condition, "other": lambda g, condition: g * ~condition},
)
def where(xp, condition, self, other):
    return xp.where(condition.astype(bool), self, other)


@op(
    "_conj_physical(Tensor self) -> Tensor",
    shape=same,
    dtype=same_dtype,
    inplace=True,
    out=True,
    function=False,
    method=False,
    grad={"self": lambda g: g.conj()},
)
def _conj_physical(xp, self):
    return xp.conjugate(self) if self.dtype.kind == "c" else self


@composite("conj_physical(Tensor self) -> Tensor", inplace=True, out=True)
def conj_physical(self):
    """The conjugate; a real tensor is its own."""
    return _aten()._conj_physical(self) if self.is_complex() else self


@composite("conj(Tensor(a) self) -> Tensor(a)", function=False)
def conj(self):
    return self.conj_physical() if self.is_complex() else self


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)", function=False)
def resolve_conj(self):
    return self


@composite("resolve_neg(Tensor(a) self) -> Tensor(a)", function=False)
def resolve_neg(self):
    return self


def _angle_grad(g, x):
    if not x.is_complex():
        return _zeros(g)
    return (g * x / x.abs().pow(2) * 1j).masked_fill(x == 0, 0)


@op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    shape=broadcast,
    dtype=lambda abs, angle: (real_pair(abs, angle), abs.dtype.to_complex()),
    out=True,
    grad={
        "abs": lambda g, result: (g.conj() * _aten().sgn(result)).real,
        "angle": lambda g, result: (g.conj() * (result * 1j)).real,
    },
)
def polar(xp, abs, angle):
    real = abs * xp.cos(angle)
    found = xp.empty(real.shape, (real.dtype.type(0) + xp.zeros((), "complex64")).dtype)
    found.real, found.imag = real, abs * xp.sin(angle)  # each by itself: infinities do not meet
    return found


@op(
    "angle(Tensor self) -> Tensor",
    shape=same,
    dtype=lambda self: (int_to_float(self), int_to_float(self).to_real()),
    out=True,
    grad={"self": lambda g, self: _angle_grad(g, self)},
)
def angle(xp, self):
    if self.dtype.kind == "f":
        return xp.where(xp.isnan(self), self, xp.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0)))
    return xp.angle(self)
