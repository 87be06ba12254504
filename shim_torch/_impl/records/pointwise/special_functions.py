"""torch.special: gamma, Bessel, error and zeta functions, the normal distribution, orthogonal polynomials."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays import bessel
from shim_torch._impl.arrays.gamma_incomplete import gamma_incomplete
from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import aten
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import NARROW, broadcast, int_to_float, promote, same, type_name

_SPECIAL: dict[str, Any] = {"module": "special", "method": False}


def _native(name: str) -> str:
    """The name of the C++ kernel of an operator."""
    return name.removeprefix("special_")


def _unary(name: str, body: Any, grad: Any, **options: Any) -> None:
    def run(xp: Any, self: Any) -> Any:
        return xp.asarray(body(xp, self)).astype(self.dtype)

    op(f"{name}(Tensor self) -> Tensor", shape=same, dtype=refusing(name, int_to_float), out=True, native=_native(name),
       grad={"self": grad} if grad else None, **{**_SPECIAL, **options})(run)  # fmt: skip


def _over(body: Any) -> Any:
    return lambda xp, self: body(xp, self)


_unary("i0", lambda xp, x: bessel.modified_i(xp, x, 0, False), lambda g, self: g * aten().special_i1(self),
       module="", method=True, inplace=True)  # fmt: skip
_unary("special_i0e", lambda xp, x: bessel.modified_i(xp, x, 0, True),
       lambda g, self, result: g * (aten().special_i1e(self) - self.sgn() * result))  # fmt: skip


def _no_low_precision(kernel: str, self: Any) -> None:
    if self.device.type == "cpu" and self.dtype in NARROW:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{type_name(self.dtype)}'")


def _i1_grad(g: Any, self: Any, result: Any) -> Any:
    _no_low_precision("i1_backward", self)
    zero = self == 0
    safe = self.masked_fill(zero, 1.0)
    return g * (aten().i0(self) - result / safe).masked_fill(zero, 0.5)


def _i1e_grad(g: Any, self: Any, result: Any) -> Any:
    _no_low_precision("i1e_backward", self)
    zero = self == 0
    safe = self.masked_fill(zero, 1.0)
    return g * (aten().special_i0e(self) - result * (self.sgn() + 1 / safe)).masked_fill(zero, 0.5)


def _finite_i(xp: Any, x: Any, order: int) -> Any:
    """Not a number at infinity, where PyTorch multiplies an infinite exponential by zero."""
    return xp.where(xp.isinf(x), math.nan, bessel.modified_i(xp, x, order, False))


_unary("special_i1", lambda xp, x: _finite_i(xp, x, 1), _i1_grad)
_unary("special_i1e", lambda xp, x: bessel.modified_i(xp, x, 1, True), _i1e_grad)
for _n in (0, 1):
    _unary(f"special_bessel_j{_n}", lambda xp, x, n=_n: bessel.bessel_j(xp, x, n), None, never_differentiable=True)
    _unary(f"special_bessel_y{_n}", lambda xp, x, n=_n: bessel.bessel_y(xp, x, n), None, never_differentiable=True)
    _unary(f"special_modified_bessel_i{_n}", lambda xp, x, n=_n: _finite_i(xp, x, n), None, never_differentiable=True)
    _unary(
        f"special_modified_bessel_k{_n}",
        lambda xp, x, n=_n: bessel.modified_k(xp, x, n, False),
        None,
        never_differentiable=True,
    )


def _shape_of_x(x: Any) -> Any:
    return tuple(x.shape)


_shape_of_x.elementwise = True  # type: ignore[attr-defined]


def _of_x(name: str, body: Any) -> None:
    def run(xp: Any, x: Any) -> Any:
        return xp.asarray(body(xp, x)).astype(x.dtype)

    op(
        f"{name}(Tensor x) -> Tensor",
        shape=_shape_of_x,
        dtype=int_to_float,
        out=True,
        native=_native(name),
        never_differentiable=True,
        **_SPECIAL,
    )(run)


for _n in (0, 1):
    _of_x(f"special_scaled_modified_bessel_k{_n}", lambda xp, x, n=_n: bessel.modified_k(xp, x, n, True))


def _spherical(xp: Any, x: Any) -> Any:
    z = xp.where(x == 0, xp.ones((), x.dtype), x)
    return xp.where(x == 0, 1.0, xp.where(xp.isinf(x), 0.0, xp.sin(z) / z))


_of_x("special_spherical_bessel_j0", _spherical)
_of_x("special_airy_ai", bessel.airy_ai)


# --- error functions and the normal distribution --------------------------------------------------------------------


def _vector(xp: Any, name: str) -> Any:
    """``name`` over arrays; of NumPy's, through the operator, whose kernel is native."""
    if xp.__name__ != "numpy":
        return special(xp, name)
    return lambda x: _core.to_numpy(getattr(aten(), name)(_core.from_numpy(xp.array(x, dtype="float64"))))


def _erfcx(xp: Any, x: Any) -> Any:
    return bessel.erfcx(xp, x, _vector(xp, "erfc"))


def _ndtr(xp: Any, x: Any) -> Any:
    return 0.5 * _vector(xp, "erfc")(-x.astype("float64") / math.sqrt(2))


def _log_ndtr(xp: Any, x: Any) -> Any:
    z = x.astype("float64")
    low = xp.minimum(z, -1.0)
    tail = xp.log(bessel.erfcx(xp, -low / math.sqrt(2), _vector(xp, "erfc")) / 2) - low * low / 2
    return xp.where(z < -1.0, tail, xp.log1p(-_vector(xp, "erfc")(xp.maximum(z, -1.0) / math.sqrt(2)) / 2))


def _ndtri(xp: Any, p: Any) -> Any:
    """The normal quantile: from erfinv in the middle, by Newton's steps on the log in the tails."""
    z = p.astype("float64")
    inside = (z > 0) & (z < 1)
    half = xp.where(inside, xp.minimum(z, 1 - z), 0.25)
    x = -xp.sqrt(-2 * xp.log(half))
    for _ in range(8):
        log = _log_ndtr(xp, x)
        slope = xp.exp(-0.5 * x * x - log) / math.sqrt(2 * math.pi)
        x = x - (log - xp.log(half)) / slope
    x = xp.where(half == 0.5, 0.0, xp.where(z > 0.5, -x, x))
    ends = xp.where(z == 0, -math.inf, xp.where(z == 1, math.inf, math.nan))
    return xp.where(inside, x, ends)


_ROOT = math.sqrt(2 * math.pi)
_unary("special_erfcx", _erfcx, lambda g, self, result: g * (2 * self * result - 2 / math.sqrt(math.pi)))
_unary("special_ndtr", _ndtr, lambda g, self: g * (-0.5 * self * self).exp() / _ROOT, writes_out_last=True)
_unary(
    "special_log_ndtr",
    _log_ndtr,
    lambda g, self: g * math.sqrt(2 / math.pi) / aten().special_erfcx(self * -math.sqrt(0.5)),
)
_unary("special_ndtri", _ndtri, lambda g, result: g * _ROOT * (0.5 * result * result).exp())


def _entropy(xp: Any, x: Any) -> Any:
    inside = xp.where(x > 0, x, xp.ones((), x.dtype))
    return xp.where(xp.isnan(x), x, xp.where(x > 0, -inside * xp.log(inside), xp.where(x == 0, 0.0, -math.inf)))


_unary("special_entr", _entropy, lambda g, self: g * (-(self.log()) - 1))

# --- gamma and zeta -------------------------------------------------------------------------------------------------


def _polygamma_body(xp: Any, n: int, self: Any) -> Any:
    if n == 0:
        return special(xp, "digamma")(self)
    factorial = math.factorial(n) if n <= 170 else math.inf  # beyond what float64 holds
    factor = factorial if n % 2 else -factorial
    z = self.astype("float64")
    return (factor * bessel.zeta(xp, xp.full_like(z, n + 1.0), z)).astype(self.dtype)


def _check_order(n: int) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def _polygamma_shape(n: int, self: Any) -> Any:
    _check_order(n)
    return self.shape


_polygamma_shape.elementwise = True  # type: ignore[attr-defined]


for _name, _options in (
    ("polygamma", {"module": "", "method": False}),
    ("special_polygamma", {**_SPECIAL, "out_error_name": "polygamma"}),
):
    op(f"{_name}(int n, Tensor self) -> Tensor", shape=_polygamma_shape, dtype=int_to_float, out=True, native="polygamma",
       grad={"self": lambda g, n, self: g * aten().polygamma(n + 1, self)}, **_options)(
        lambda xp, n, self: _polygamma_body(xp, n, self))  # fmt: skip


def _multigamma(a: Any, p: int) -> Any:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if a.dtype == _core.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    import shim_torch

    x = a if a.is_floating_point() else a.to(shim_torch.get_default_dtype())
    steps = shim_torch.arange(0, p, dtype=x.dtype, device=x.device) * -0.5
    return (x.unsqueeze(-1) + steps).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


composite(
    "mvlgamma(Tensor self, int p) -> Tensor",
    out=True,
    inplace=True,
    cast_error="mvlgamma: result type {O} can't be cast to the desired output type {R}",
)(lambda self, p: _multigamma(self, p))
composite("special_multigammaln(Tensor self, int p) -> Tensor", out=True, **_SPECIAL)(
    lambda self, p: _multigamma(self, p)
)


def _no_derivative(name: str) -> Any:
    def missing(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return missing


def _incomplete(name: str, upper: bool) -> None:
    sign = -1.0 if upper else 1.0

    def run(xp: Any, self: Any, other: Any) -> Any:
        dtype = self.dtype
        found = gamma_incomplete(xp, self, other, upper, special(xp, "lgamma"), special(xp, "erfc"))
        return found.astype(dtype)

    def grad(g: Any, self: Any, other: Any) -> Any:
        return g * sign * ((self - 1) * other.log() - other - self.lgamma()).exp()

    op(f"{name}(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing(name, promote), out=True, inplace=True,
       native=name, grad={"self": _no_derivative(f"{name}: input"), "other": grad})(run)  # fmt: skip
    composite(f"special_gammainc{'c' if upper else ''}(Tensor self, Tensor other) -> Tensor", out=True, **_SPECIAL)(
        lambda self, other: getattr(aten(), name)(self, other)
    )


_incomplete("igamma", False)
_incomplete("igammac", True)


@op("special_zeta(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing("special_zeta", int_to_float), out=True,
    native="zeta", grad={"self": _no_derivative("zeta"), "other": lambda g, self, other: g * -self * aten().special_zeta(self + 1, other)}, **_SPECIAL, numbers="not_all")  # fmt: skip
def special_zeta(xp, self, other):
    return bessel.zeta(xp, self, other).astype(self.dtype)


def _xlog1py_grad(g: Any, self: Any, other: Any) -> Any:
    if not isinstance(other, _core.TensorBase):
        return g * math.log1p(other) if other > -1 else (g * -math.inf).masked_fill(self == 0, 0.0)
    return (g * other.log1p()).masked_fill((self == 0) & (other <= -1), 0.0)


def _xlog1py(xp: Any, self: Any, other: Any) -> Any:
    found = self * xp.log1p(other)
    return xp.where(xp.isnan(other), other, xp.where(self == 0, xp.zeros((), self.dtype), found))


op("special_xlog1py(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing("special_xlog1py", int_to_float), out=True, native="xlog1py",
   grad={"self": _xlog1py_grad,
         "other": lambda g, self, other: g * self / (other + 1)}, **_SPECIAL, numbers="not_all")(_xlog1py)  # fmt: skip


def with_numbers(name: str, first: str, second: str, words: tuple[str, str], **traits: Any) -> None:
    """Overloads that take a number for one of two tensors."""

    def numbered(a: Any, b: Any) -> Any:
        import shim_torch

        if not isinstance(a, _core.TensorBase):
            a = shim_torch.tensor(a, dtype=shim_torch.result_type(b, a), device=b.device)
        if not isinstance(b, _core.TensorBase):
            b = shim_torch.tensor(b, dtype=shim_torch.result_type(a, b), device=a.device)
        return getattr(aten(), name)(a, b)

    composite(f"{name}.{words[0]}(Scalar {first}, Tensor {second}) -> Tensor", out=True, **_SPECIAL, **traits)(numbered)
    composite(f"{name}.{words[1]}(Tensor {first}, Scalar {second}) -> Tensor", out=True, **_SPECIAL, **traits)(numbered)


for _name in ("special_xlog1py", "special_zeta"):
    with_numbers(_name, "self", "other", ("self_scalar", "other_scalar"), numbers="not_all")

# --- other names of functions that torch has ------------------------------------------------------------------------

_SAME = {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "sinc": "sinc",
}  # fmt: skip


def _named(name: str, target: str) -> None:
    composite(f"special_{name}(Tensor self) -> Tensor", out=True, **_SPECIAL)(
        lambda self: getattr(aten(), target)(self)
    )


for _name, _target in _SAME.items():
    _named(_name, _target)


@composite("special_logit(Tensor self, float? eps=None) -> Tensor", out=True, **_SPECIAL)
def special_logit(self, eps):
    return aten().logit(self, eps)


@composite("special_round(Tensor self, *, int decimals=0) -> Tensor", out=True, **_SPECIAL)
def special_round(self, decimals):
    return self.round(decimals=decimals)


@composite("special_xlogy(Tensor self, Tensor other) -> Tensor", out=True, **_SPECIAL, numbers="not_all")
def special_xlogy(self, other):
    return aten().xlogy(self, other)


with_numbers("special_xlogy", "self", "other", ("self_scalar", "other_scalar"), numbers="not_all")


@composite("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out=True, **_SPECIAL)
def special_logsumexp(self, dim, keepdim):
    return self.logsumexp(dim, keepdim)


@composite("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", **_SPECIAL)
def special_softmax(self, dim, dtype):
    return self.softmax(dim, dtype=dtype)


@composite("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", **_SPECIAL)
def special_log_softmax(self, dim, dtype):
    return self.log_softmax(dim, dtype=dtype)
