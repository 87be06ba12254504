"""Pointwise operators of two operands beyond arithmetic: the larger and smaller, angles, bits and logic."""

from __future__ import annotations

import math

from shim_torch._impl.arrays.special import logaddexp
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import conjugate, zeros_as
from shim_torch._impl.records.shared.pointwise import Formula, binary_op
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing
from shim_torch._impl.table.rules import broadcast, fixed, int_to_float, promote, underived


def _shared_grads(worse: str) -> dict[str, Formula]:
    """Equal operands get half each; where one is NaN neither is worse, and both get the gradient."""

    def share(g, mine, theirs):
        return torch.where(mine == theirs, g / 2, g).masked_fill(getattr(torch, worse)(mine, theirs), 0)

    return {"self": lambda g, self, other: share(g, self, other), "other": lambda g, self, other: share(g, other, self)}


def _first_grads(as_good: str) -> dict[str, Formula]:
    """The first operand gets all where it is as good as the other, or the other is NaN; else the other gets it."""

    def chosen(self, other):
        return getattr(torch, as_good)(self, other) | other.isnan()

    return {
        "self": lambda g, self, other: g.masked_fill(chosen(self, other).logical_not(), 0),
        "other": lambda g, self, other: g.masked_fill(chosen(self, other), 0),
    }


_EXTREMES = {
    "maximum": _shared_grads("lt"),
    "minimum": _shared_grads("gt"),
    "fmax": _first_grads("ge"),
    "fmin": _first_grads("le"),
}
for _name, _grads in _EXTREMES.items():
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=refusing(promote, ("c", f"{_name} not implemented for complex tensors.")),
        out=True,
        native=_name,
        grad=_grads,
    )((lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_name))


def _inverse_square(x, y):
    """1 / (x² + y²), and 0 at the origin, where an angle has no gradient."""
    square = x * x + y * y
    return square.reciprocal().masked_fill(square == 0, 0)


def _angle_slope(g, self, other, by_self):
    if g.is_cuda and _core.one_pass(g, self, other):
        return (shim.atan2_backward if by_self else shim.atan2_other_backward)(g, self, other)
    return g * (other if by_self else -self) * _inverse_square(self, other)


def _angle_kernel(name, side):
    @op(
        f"shim::{name}(Tensor grad_output, Tensor self, Tensor other) -> Tensor",
        shape=lambda grad_output: grad_output.shape,
        dtype=lambda grad_output: grad_output.dtype,
        native=name,
        function=False,
    )
    def slope(xp, grad_output, self, other):
        square = self * self + other * other
        return xp.where(square == 0, 0, grad_output * side(self, other) / xp.where(square == 0, 1, square))


_angle_kernel("atan2_backward", lambda self, other: other)
_angle_kernel("atan2_other_backward", lambda self, other: -self)


_FLOATS2: dict[str, tuple[str, dict[str, Formula]]] = {
    "atan2": (
        "arctan2",
        {
            "self": lambda g, self, other: _angle_slope(g, self, other, True),
            "other": lambda g, self, other: _angle_slope(g, self, other, False),
        },
    ),
    "hypot": (
        "hypot",
        {"self": lambda g, self, result: g * (self / result), "other": lambda g, other, result: g * (other / result)},
    ),
    "logaddexp": (
        "logaddexp",
        {
            "self": lambda g, self, other: g / conjugate(1 + (other - self).exp()),
            "other": lambda g, self, other: g / conjugate(1 + (self - other).exp()),
        },
    ),
    "logaddexp2": (
        "logaddexp2",
        {
            "self": lambda g, self, other: g / (1 + (other - self).exp2()),
            "other": lambda g, self, other: g / (1 + (self - other).exp2()),
        },
    ),
    "nextafter": ("nextafter", {"self": lambda g, self, other: g.masked_fill(self == other, 0), "other": zeros_as}),
}


def _nextafter(xp, a, b):
    """The neighbour among the numbers of the operands' own dtype, half precisions too, which are not widened here."""
    names = {str(x.dtype) for x in (a, b) if hasattr(x, "dtype") and x.dtype.kind in "fV"}
    if names == {"bfloat16"}:
        kind = next(x.dtype for x in (a, b) if str(getattr(x, "dtype", "")) == "bfloat16")
        a, b = xp.broadcast_arrays(xp.asarray(a, dtype=kind), xp.asarray(b, dtype=kind))
        bits = xp.ascontiguousarray(a).view("int16")
        step = xp.where((a < b) == (a > 0), 1, -1).astype("int16")
        least = xp.where(b < 0, -32767, 1).astype("int16")
        found = xp.where(a == 0, least, bits + step).view(a.dtype).reshape(a.shape)
        return xp.where(a == b, b, xp.where((a != a) | (b != b), a + b, found))
    wide = "float64" if "float64" in names else "float16" if names == {"float16"} else "float32"
    return xp.nextafter(xp.asarray(a, dtype=wide), xp.asarray(b, dtype=wide))


def _of_xp(name):
    return lambda xp, a, b: getattr(xp, name)(a, b)


_BODIES = {"logaddexp": logaddexp, "nextafter": _nextafter}


_KINDS = {"atan2": "c", "hypot": "bic", "logaddexp": "bi", "logaddexp2": "bic", "nextafter": "bic"}  # refused
for _name, (_np, _grads) in _FLOATS2.items():
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=refusing(int_to_float if _name == "atan2" else promote, (_KINDS[_name], f"{_name}_cpu")),
        out=True,
        inplace=_name in ("atan2", "hypot", "nextafter"),
        grad=_grads,
        native=f"real_{_name}" if _name in ("atan2", "hypot") else _name,
        aliases=("arctan2",) if _name == "atan2" else (),
        **({"autocast": "promote_cuda"} if _name == "atan2" else {}),
        keep=("self", "other") if _name == "nextafter" else (),
    )((lambda f: lambda xp, self, other: f(xp, self, other))(_BODIES.get(_name) or _of_xp(_np)))


@op(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    native="copysign",
    gradient_name="CopysignBackward1/CopysignBackward0",
    shape=broadcast,
    dtype=refusing(int_to_float, ("c", "copysign_cpu")),
    inplace=True,
    out=True,
    grad={"self": lambda g, self, result: g * (result / self).masked_fill(self == 0, 0.0), "other": zeros_as},
    number_overloads=("Scalar",),
    numbers="not_first",
)
def copysign(xp, self, other):
    """The magnitude of input with the sign of other (-0.0 and NaN have signs too); integers give the default dtype."""
    return xp.copysign(self, other)


def _xlogy_self(g, self, other):
    if not isinstance(other, _core.TensorBase):
        logarithm = math.log(other) if other > 0 else -math.inf if other == 0 else math.nan
        slope = g * logarithm
        return slope if other > 0 else slope.masked_fill(self == 0, 0.0)
    return g * other.to(g.dtype).log().masked_fill((self == 0) & (other <= 0), 0.0)


@op(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    native="xlogy",
    shape=broadcast,
    dtype=refusing(int_to_float, ("c", "xlogy_cpu")),
    inplace="function",
    out=True,
    grad={
        "self": lambda g, self, other: _xlogy_self(g, self, other),
        "other": lambda g, self, other: g * self / other,
    },
    gradient_name="XlogyBackward2/XlogyBackward0/XlogyBackward1",
    number_overloads=("Scalar_Other", "Scalar_Self"),
    numbers="not_all",
)
def xlogy(xp, self, other):
    """input · log(other), and 0 where input is 0 (unless other is NaN); integers give the default dtype."""
    return xp.where((self == 0) & ~xp.isnan(other), 0, self * xp.log(other))


@op(
    "gcd(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing(promote, ("bfc", "gcd_cpu")),
    native="gcd",
    never_differentiable=True,
    inplace="function",
    out=True,
)
def gcd(xp, self, other):
    """The greatest common divisor of two tensors of integers that broadcast; it is not negative."""
    return xp.gcd(self, other)


@op(
    "lcm(Tensor self, Tensor other) -> Tensor",
    shape=broadcast,
    dtype=refusing(promote, ("bfc", "lcm_cpu")),
    native="lcm",
    never_differentiable=True,
    inplace="function",
    out=True,
)
def lcm(xp, self, other):
    """The least common multiple of two tensors of integers that broadcast; not negative, and 0 where either is 0."""
    return xp.lcm(self, other)


def _heaviside_dtype(self, values):
    for t in (self, values):
        refuse(t.dtype, ("c", "heaviside is not yet implemented for complex tensors."))
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return self.dtype


@op("heaviside(Tensor self, Tensor values) -> Tensor", gradient_name="torch::autograd::NotImplemented", shape=broadcast, dtype=_heaviside_dtype, inplace=True, out=True, native="heaviside",
    grad={"self": underived("heaviside"), "values": underived("heaviside")}, out_dtype="heaviside is not yet implemented for tensors with different dtypes.", out_error_name="aten::heaviside")  # fmt: skip
def heaviside(xp, self, values):
    """0 for negative elements and NaN, 1 for positive ones, ``values`` for 0; both real, of one dtype; no gradient."""
    return xp.where(self == 0, values, (self > 0).astype(self.dtype))


@composite(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="function",
    out=True,
    pointwise=True,
    gradient_name=True,
    cast_error="ldexp can't be cast to the desired output type {O}",
)
def ldexp(self, other):
    """input · 2 ** other; two tensors of integers give the default dtype, whole powers of two the input's."""
    if not self.is_floating_point() or other.is_floating_point() or other.is_complex():
        return self * torch.pow(2.0, other)
    refuse(other.dtype, ("b", "ldexp_cpu_exp"))
    wide = _core.float64 if self.dtype is _core.float64 else _core.float32  # powers that a half does not hold
    return (self * torch.pow(2.0, other.to(wide))).to(self.dtype)


for _name, _np, _symbol, _refused in (
    ("bitwise_and", "bitwise_and", "and", ("fc", "bitwise_and_cpu")),
    ("bitwise_or", "bitwise_or", "or", ("fc", "bitwise_or_cpu")),
    ("bitwise_xor", "bitwise_xor", "xor", ("fc", "bitwise_xor_cpu")),
    ("bitwise_left_shift", "left_shift", "lshift", ("bfc", "lshift_cpu")),
    ("bitwise_right_shift", "right_shift", "rshift", ("bfc", "rshift_cpu")),
):
    binary_op(
        _name,
        (lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_np),
        None,
        refused=(_refused,),
        symbol=_symbol,
        foreseen="" if "shift" in _name else "integers",
        never_differentiable=True,
        numbers="not_all",
        number_overloads=("Tensor_Scalar" if "shift" in _name else "Scalar", "Scalar_Tensor"),
    )
for _name in ("logical_and", "logical_or", "logical_xor"):
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=lambda self, other: (promote(self, other), fixed("bool")()[1]),
        inplace=True,
        out=True,
        native=_name,
        foreseen="any",
        never_differentiable=True,
    )((lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_name))
