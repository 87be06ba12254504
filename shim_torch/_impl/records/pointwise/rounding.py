"""Pointwise operators of one operand: rounding, signs, absolute values and tests."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import zeros_as
from shim_torch._impl.records.shared.pointwise import Formula, array_function, unary_op
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing
from shim_torch._impl.table.rules import fixed, same, same_dtype

_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
_SIGN = "!Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."


def _integers_unchanged(function: str) -> Formula:
    def body(xp, self):
        return self if self.dtype.kind in "iub" else getattr(xp, function)(self)

    return body


for _name, _np in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc")):
    unary_op(
        _name,
        _integers_unchanged(_np),
        zeros_as,
        same_dtype,
        (("c", f"!{_name} is not supported for complex inputs"), ("b", f"{_name}_vml_cpu")),
        aliases=("fix",) if _name == "trunc" else (),
        out_dtype="same",
        sparse="zero_preserving",
    )
unary_op(
    "round",
    _integers_unchanged("rint"),
    zeros_as,
    same_dtype,
    sparse="zero_preserving",
    refused=(("bc", "round_vml_cpu"),),
    out_dtype="same",
)
unary_op(
    "frac",
    lambda xp, self: self - xp.trunc(self),
    lambda g: g,
    same_dtype,
    sparse="zero_preserving",
    refused=(("bic", "frac_cpu"),),
    out_dtype="same",
)
unary_op(
    "neg",
    lambda xp, self: -self,
    lambda g: -g,
    same_dtype,
    aliases=("negative",),
    sparse="linear",
    symbol="neg",
    refused=(("b", _NEGATION),),
    out_dtype="same",
)


@composite("positive(Tensor(a) self) -> Tensor(a)", pointwise=True, sparse="zero_preserving", symbol="pos")
def positive(self):
    """The input itself; bool is refused (RuntimeError)."""
    refuse(self.dtype, ("b", "The `+` operator, on a bool tensor is not supported."))
    return self


unary_op(
    "square",
    lambda xp, self: self * self,
    lambda g, self: g * (2 * self).conj(),
    lambda self: _square_dtype(self),
    sparse="zero_preserving",
    out_error_name="pow",
    gradient_name="PowBackward0",
)
unary_op(
    "sgn",
    lambda xp, self: _sign(xp, self),
    lambda g, self, result: _sgn_grad(g, self, result),
    same_dtype,
    sparse="zero_preserving",
    inplace=True,
    out_dtype="same",
)
unary_op(
    "sign",
    lambda xp, self: _sign(xp, self),
    zeros_as,
    same_dtype,
    sparse="zero_preserving",
    refused=(("c", _SIGN),),
    inplace=True,
    out_dtype="same",
)
unary_op(
    "logical_not",
    array_function("logical_not"),
    None,
    fixed("bool"),
    foreseen="any",
    inplace=True,
    never_differentiable=True,
)
unary_op(
    "bitwise_not",
    lambda xp, self: ~self,
    None,
    same_dtype,
    symbol="invert",
    foreseen="integers",
    refused=(("fc", "bitwise_not_cpu"),),
    inplace=True,
    out_dtype="same",
)
unary_op(
    "signbit",
    array_function("signbit"),
    None,
    fixed("bool"),
    inplace=False,
    sparse="zero_preserving",
    refused=(("c", "!signbit is not implemented for complex tensors."),),
    out_dtype="signbit does not support non-boolean outputs.",
    never_differentiable=True,
)


for _name in ("isnan", "isfinite", "isinf"):
    _options: dict[str, Any] = {} if _name == "isfinite" else {"sparse": "zero_preserving"}
    unary_op(_name, array_function(_name), None, fixed("bool"), inplace=False, out=False, **_options)
unary_op(
    "isposinf",
    array_function("isposinf"),
    None,
    fixed("bool"),
    inplace=False,
    sparse="zero_preserving",
    refused=(("c", "isposinf does not support complex inputs."),),
    out_dtype="isposinf does not support non-boolean outputs.",
    never_differentiable=True,
)
unary_op(
    "isneginf",
    array_function("isneginf"),
    None,
    fixed("bool"),
    inplace=False,
    sparse="zero_preserving",
    refused=(("c", "isneginf does not support complex inputs."),),
    out_dtype="isneginf does not support non-boolean outputs.",
    never_differentiable=True,
)


@composite("isreal(Tensor self) -> Tensor", pointwise=True)
def isreal(self):
    """Whether each element's imaginary part is 0; real dtypes have none."""
    return self.imag == 0 if self.is_complex() else torch.ones_like(self, dtype=_core.bool)


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
    refuse(self.dtype, ("bic", "round_vml_cpu" if decimals == 0 else "round_cpu"))
    return self.dtype


@op(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    shape=same,
    dtype=_decimals_dtype,
    inplace="function",
    out=True,
    native="round_decimals",
    gradient_name="RoundBackward1",
    grad={"self": zeros_as},
    sparse="zero_preserving",
    out_dtype="same",
)
def round_decimals(xp, self, decimals):
    """Each element rounded to a whole number, or to ``decimals`` decimal places; halves go to the even neighbour.

    Bool and complex are refused, with ``decimals`` integers too.
    """
    return xp.round(self, decimals)


def _abs_dtype(self):
    return self.dtype, self.dtype.to_real()


@op(
    "abs(Tensor self) -> Tensor",
    shape=same,
    dtype=refusing(_abs_dtype, ("b", "abs_cpu")),
    inplace=("abs_",),
    out=True,
    native="abs",
    grad={"self": lambda g, self: g * self.sgn()},
    aliases=("absolute",),
    sparse="zero_preserving",
    symbol="abs",
    out_dtype="same",
)
def abs_(xp, self):
    """The absolute value of each element; complex dtypes give real ones, bool is refused."""
    return self if self.dtype.kind == "b" else xp.abs(self)
