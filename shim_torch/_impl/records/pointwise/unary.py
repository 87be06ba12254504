"""Pointwise operators of one operand: exponentials, logarithms, trigonometry, rounding, signs and tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import aten, one_pass, zeros_as
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing
from shim_torch._impl.table.rules import fixed, int_to_float, same, same_dtype

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


_unary("exp", _f("exp"), lambda g, result: g * result.conj(), autocast="float32_cuda")
_unary("exp2", _f("exp2"), lambda g, result: g * result.conj() * math.log(2))
_unary("expm1", _f("expm1"), lambda g, result: g * (result.conj() + 1), autocast="float32_cuda")
_unary("log", _f("log"), lambda g, self: g / self.conj(), autocast="float32_cuda")
_unary("log2", _f("log2"), lambda g, self: g / (self.conj() * math.log(2)), autocast="float32_cuda")
_unary("log10", _f("log10"), lambda g, self: g / (self.conj() * math.log(10)), autocast="float32_cuda")
_unary("log1p", _f("log1p"), lambda g, self: g / (self + 1).conj(), autocast="float32_cuda")
_unary("sqrt", _f("sqrt"), lambda g, result: g / (2 * result.conj()))
_unary(
    "rsqrt",
    lambda xp, self: 1 / xp.sqrt(self),
    lambda g, result: -0.5 * g * result.pow(3).conj(),
    autocast="float32_cuda",
)
_unary(
    "reciprocal", lambda xp, self: 1 / self, lambda g, result: -g * (result * result).conj(), autocast="float32_cuda"
)
_unary("sin", _f("sin"), lambda g, self: g * self.cos().conj())
_unary("cos", _f("cos"), lambda g, self: g * -self.sin().conj())
_unary("tan", _f("tan"), lambda g, result: g * (1 + result * result).conj(), autocast="float32_cuda")
_unary(
    "asin",
    _f("arcsin"),
    lambda g, self: g * (-self * self + 1).rsqrt().conj(),
    aliases=("arcsin",),
    autocast="float32_cuda",
)
_unary(
    "acos",
    _f("arccos"),
    lambda g, self: g * -(-self * self + 1).rsqrt().conj(),
    aliases=("arccos",),
    autocast="float32_cuda",
)
_unary("atan", _f("arctan"), lambda g, self: g / (self * self + 1).conj(), aliases=("arctan",))
_unary("sinh", _f("sinh"), lambda g, self: g * self.cosh().conj(), autocast="float32_cuda")
_unary("cosh", _f("cosh"), lambda g, self: g * self.sinh().conj(), autocast="float32_cuda")
_unary("tanh", _f("tanh"), lambda g, result: _tanh_grad(g, result))
_unary("asinh", _f("arcsinh"), lambda g, self: g * (self.pow(2) + 1).rsqrt().conj(), aliases=("arcsinh",))
_unary("acosh", _f("arccosh"), lambda g, self: g * (self.pow(2) - 1).rsqrt().conj(), aliases=("arccosh",))
_unary("atanh", _f("arctanh"), lambda g, self: g / (1 - self.pow(2)).conj(), aliases=("arctanh",))
_unary("erf", _special("erf"), lambda g, self: 2 / math.sqrt(math.pi) * (-(self * self)).exp() * g)
_unary("erfc", _special("erfc"), lambda g, self: -2 / math.sqrt(math.pi) * (-(self * self)).exp() * g)
_unary(
    "erfinv",
    _special("erfinv"),
    lambda g, self: 0.5 * math.sqrt(math.pi) * self.erfinv().square().exp() * g,
    autocast="float32_cuda",
)
_unary("lgamma", _special("lgamma"), lambda g, self: g * self.digamma())
_unary("digamma", _special("digamma"), lambda g, self: g * aten().polygamma(1, self))


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
    grad={"self": lambda g, result: _sigmoid_grad(g, result)},
)
def sigmoid(xp, self):
    e = xp.exp(-xp.abs(self)) if self.dtype.kind != "c" else None
    if e is None:
        return 1 / (1 + xp.exp(-self))
    return xp.where(self >= 0, 1 / (1 + e), e / (1 + e))


def _tanh_grad(g, result):
    done = one_pass(g, result, "tanh_backward")
    return g * (1 - result * result).conj() if done is None else done


def _sigmoid_grad(g, result):
    done = one_pass(g, result, "sigmoid_backward")
    return g * (result * (1 - result)).conj() if done is None else done


def _integers_unchanged(function: str) -> Formula:
    def body(xp, self):
        return self if self.dtype.kind in "iub" else getattr(xp, function)(self)

    return body


for _name, _aliases in (("floor", ()), ("ceil", ()), ("trunc", ("fix",))):
    _unary(_name, _integers_unchanged(_name), zeros_as, same_dtype, aliases=_aliases, out_dtype="same")
_unary("round", _integers_unchanged("rint"), zeros_as, same_dtype, out_dtype="same")
_unary("frac", lambda xp, self: self - xp.trunc(self), lambda g: g, same_dtype, out_dtype="same")
_unary("neg", lambda xp, self: -self, lambda g: -g, same_dtype, aliases=("negative",), out_dtype="same")


@composite("positive(Tensor(a) self) -> Tensor(a)")
def positive(self):
    refuse("positive", self.dtype)
    return self


_unary(
    "square",
    lambda xp, self: self * self,
    lambda g, self: g * (2 * self).conj(),
    lambda self: _square_dtype(self),
    out_error_name="pow",
)
_unary(
    "sgn",
    lambda xp, self: _sign(xp, self),
    lambda g, self, result: _sgn_grad(g, self, result),
    same_dtype,
    native="sign",
    out_dtype="same",
)
_unary("sign", lambda xp, self: _sign(xp, self), zeros_as, same_dtype, out_dtype="same")
_unary("logical_not", _f("logical_not"), None, fixed("bool"))
_unary("bitwise_not", lambda xp, self: ~self, None, same_dtype, out_dtype="same")
for _name in ("signbit", "isposinf", "isneginf"):
    _of_numbers = f"{_name} does not support non-boolean outputs."
    _unary(_name, _f(_name), None, fixed("bool"), inplace=False, out_dtype=_of_numbers)
for _name in ("isnan", "isfinite", "isinf"):
    _unary(_name, _f(_name), None, fixed("bool"), inplace=False, out=False)
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
        return zeros_as(g)
    size = x.abs()
    slope = g / size - (g / sgn).real * sgn / size
    return slope.masked_fill(size == 0, 0.0)


def _decimals_dtype(self, decimals):
    refuse("round.none" if decimals == 0 else "round.decimals", self.dtype)
    return self.dtype


@op(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    shape=same,
    dtype=_decimals_dtype,
    inplace=True,
    out=True,
    native="round_decimals",
    grad={"self": zeros_as},
    out_dtype="same",
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
    out_dtype="same",
)
def abs_(xp, self):
    return self if self.dtype.kind == "b" else xp.abs(self)


@op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    shape=same,
    dtype=refusing("logit", int_to_float),
    inplace=True,
    out=True,
    native="logit",
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
    native="nan_to_num",
    shape=same,
    dtype=same_dtype,
    function=False,
    method=False,
    grad={"self": lambda g, self: g * self.isfinite()},
)
def _nan_to_num(xp, self, nan, posinf, neginf):
    return xp.nan_to_num(self, nan=nan, posinf=posinf, neginf=neginf)


@composite(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    inplace=True,
    out=True,
    out_dtype="nan_to_num: dtype of out: {O} should be same as input: {R}",
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
    return aten()._nan_to_num(self, 0.0 if nan is None else nan, most, least)
