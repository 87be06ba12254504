"""Pointwise operators of one operand: exponentials, logarithms, trigonometry and what is near them."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import one_pass
from shim_torch._impl.records.shared.pointwise import Formula, array_function, unary_op
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import int_to_float, same, same_dtype
from shim_torch._impl.tensor.type_info import finfo


def _special(function: str) -> Formula:
    def body(xp, self):
        return special(xp, function)(self)

    return body


def _log1p(xp: Any, self: Any) -> Any:
    """log(1 + x). Complex: near 0 the array libraries' log1p loses the real part, half of log1p(|1 + x|^2 - 1)."""
    if self.dtype.kind != "c":
        return xp.log1p(self)
    real, imag = self.real, self.imag
    near, result = (abs(real) < 0.5) & (abs(imag) < 0.5), xp.empty_like(self)
    result.real = xp.where(
        near, xp.log1p(xp.where(near, real * (2 + real) + imag * imag, 0)) / 2, xp.log(xp.hypot(1 + real, imag))
    )
    result.imag = xp.arctan2(imag, 1 + real)
    return result


unary_op("exp", array_function("exp"), lambda g, result: g * result.conj(), autocast="float32_cuda")
unary_op("exp2", array_function("exp2"), lambda g, result: g * result.conj() * math.log(2))
unary_op(
    "expm1",
    array_function("expm1"),
    lambda g, result: g * (result.conj() + 1),
    sparse="zero_preserving",
    autocast="float32_cuda",
)
unary_op("log", array_function("log"), lambda g, self: g / self.conj(), autocast="float32_cuda")
unary_op("log2", array_function("log2"), lambda g, self: g / (self.conj() * math.log(2)), autocast="float32_cuda")
unary_op("log10", array_function("log10"), lambda g, self: g / (self.conj() * math.log(10)), autocast="float32_cuda")
unary_op(
    "log1p",
    _log1p,
    lambda g, self: g / (self + 1).conj(),
    sparse="zero_preserving",
    autocast="float32_cuda",
)
unary_op("sqrt", array_function("sqrt"), lambda g, result: g / (2 * result.conj()), sparse="zero_preserving")
unary_op(
    "rsqrt",
    lambda xp, self: 1 / xp.sqrt(self),
    lambda g, result: -0.5 * g * result.pow(3).conj(),
    autocast="float32_cuda",
)
unary_op(
    "reciprocal", lambda xp, self: 1 / self, lambda g, result: -g * (result * result).conj(), autocast="float32_cuda"
)
unary_op("sin", array_function("sin"), lambda g, self: g * self.cos().conj(), sparse="zero_preserving")
unary_op("cos", array_function("cos"), lambda g, self: g * -self.sin().conj())
unary_op(
    "tan",
    array_function("tan"),
    lambda g, result: g * (1 + result * result).conj(),
    sparse="zero_preserving",
    autocast="float32_cuda",
)
unary_op(
    "asin",
    array_function("arcsin"),
    lambda g, self: g * (-self * self + 1).rsqrt().conj(),
    aliases=("arcsin",),
    sparse="zero_preserving",
    autocast="float32_cuda",
)
unary_op(
    "acos",
    array_function("arccos"),
    lambda g, self: g * -(-self * self + 1).rsqrt().conj(),
    aliases=("arccos",),
    autocast="float32_cuda",
)
unary_op(
    "atan",
    array_function("arctan"),
    lambda g, self: g / (self * self + 1).conj(),
    aliases=("arctan",),
    sparse="zero_preserving",
)
unary_op(
    "sinh",
    array_function("sinh"),
    lambda g, self: g * self.cosh().conj(),
    sparse="zero_preserving",
    autocast="float32_cuda",
)
unary_op("cosh", array_function("cosh"), lambda g, self: g * self.sinh().conj(), autocast="float32_cuda")
unary_op("tanh", array_function("tanh"), lambda g, result: _tanh_grad(g, result), sparse="zero_preserving")
unary_op(
    "asinh",
    array_function("arcsinh"),
    lambda g, self: g * (self.pow(2) + 1).rsqrt().conj(),
    aliases=("arcsinh",),
    sparse="zero_preserving",
)


def _acosh_grad(g, self):
    if self.is_complex():  # one root of a product would be on the other branch where the real part is negative
        return g * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()
    return g * (self.pow(2) - 1).rsqrt()


unary_op("acosh", array_function("arccosh"), _acosh_grad, aliases=("arccosh",))
unary_op(
    "atanh",
    array_function("arctanh"),
    lambda g, self: g / (1 - self.pow(2)).conj(),
    aliases=("arctanh",),
    sparse="zero_preserving",
)
unary_op(
    "erf",
    _special("erf"),
    lambda g, self: 2 / math.sqrt(math.pi) * (-(self * self)).exp() * g,
    sparse="zero_preserving",
    refused=(("c", "erf_vml_cpu"),),
)
unary_op(
    "erfc",
    _special("erfc"),
    lambda g, self: -2 / math.sqrt(math.pi) * (-(self * self)).exp() * g,
    refused=(("c", "erfc_vml_cpu"),),
)
unary_op(
    "erfinv",
    _special("erfinv"),
    lambda g, self: 0.5 * math.sqrt(math.pi) * self.erfinv().square().exp() * g,
    sparse="zero_preserving",
    refused=(("c", "erfinv_vml_cpu"),),
    inplace=True,
    autocast="float32_cuda",
)
unary_op(
    "lgamma", _special("lgamma"), lambda g, self: g * self.digamma(), refused=(("c", "lgamma_vml_cpu"),), inplace=True
)
unary_op(
    "digamma",
    _special("digamma"),
    lambda g, self: g * aten.polygamma(1, self),
    refused=(("c", "digamma"),),
    inplace=True,
)


def _sinc(xp, self):  # CuPy's own is 1 where the argument is infinite
    turns = self * math.pi
    return xp.where(self == 0, 1, xp.sin(turns) / xp.where(self == 0, 1, turns))


unary_op("sinc", _sinc, lambda g, self: g * _sinc_grad(self).conj())
unary_op(
    "deg2rad",
    array_function("deg2rad"),
    lambda g: g * (math.pi / 180),
    sparse="zero_preserving",
    refused=(("c", "deg2rad is not supported for complex tensors."),),
)
unary_op(
    "rad2deg",
    array_function("rad2deg"),
    lambda g: g * (180 / math.pi),
    sparse="zero_preserving",
    refused=(("c", "rad2deg is not supported for complex tensors."),),
)


def _sinc_grad(x):
    y = x * math.pi
    slope = (y * y.cos() - y.sin()) / (y * x)
    return slope.masked_fill(x == 0, 0.0)


@op(
    "sigmoid(Tensor self) -> Tensor",
    shape=same,
    dtype=int_to_float,
    inplace="function",
    out=True,
    native="sigmoid",
    grad={"self": lambda g, result: _sigmoid_grad(g, result)},
)
def sigmoid(xp, self):
    """1 / (1 + exp(-x)) of each element; integers give the default dtype."""
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


@op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    shape=same,
    dtype=refusing(int_to_float, ("c", "logit_cpu")),
    inplace="function",
    out=True,
    native="logit",
    grad={"self": lambda g, self, eps: _logit_grad(g, self, eps)},
)
def logit(xp, self, eps):
    """log(x / (1 - x)) of each element, of x bounded to [eps, 1 - eps] where ``eps`` is given.

    Integers give the default dtype; complex is refused.
    """
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
    inplace="function",
    out=True,
    pointwise=True,
    sparse="zero_preserving",
    out_dtype="nan_to_num: dtype of out: {O} should be same as input: {R}",
)
def nan_to_num(self, nan, posinf, neginf):
    """NaN as ``nan`` (zero), the infinities as given or as the dtype's largest and least numbers."""
    if not (self.is_floating_point() or self.is_complex()):
        return self.clone()
    if self.is_complex() and self.requires_grad and _core.is_grad_enabled():
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    info = finfo(self.dtype)
    most, least = info.max if posinf is None else posinf, info.min if neginf is None else neginf
    return aten._nan_to_num(self, 0.0 if nan is None else nan, most, least)
