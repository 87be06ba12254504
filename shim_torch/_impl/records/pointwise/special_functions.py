"""torch.special: Bessel and error functions, the normal distribution, and other names of functions that torch has."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays import bessel
from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.pointwise import with_numbers
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import RECORDS, composite, op
from shim_torch._impl.table.refusals import Refusals, refusing
from shim_torch._impl.table.rules import NARROW, int_to_float, same, type_name

_SPECIAL: dict[str, Any] = {"module": "special", "method": False}


def _native(name: str) -> str:
    """The name of the C++ kernel of an operator."""
    return name.removeprefix("special_")


def _unary(name: str, body: Any, grad: Any, refused: Refusals = (), **options: Any) -> None:
    def run(xp: Any, self: Any) -> Any:
        return xp.asarray(body(xp, self)).astype(self.dtype)

    op(f"{name}(Tensor self) -> Tensor", shape=same, dtype=refusing(int_to_float, *refused), out=True, native=_native(name),
       grad={"self": grad} if grad else None, **{**_SPECIAL, **options})(run)  # fmt: skip


_unary("i0", lambda xp, x: bessel.modified_i(xp, x, 0, False), lambda g, self: g * aten.special_i1(self),
       module="", method=True, inplace="function", refused=(("c", "i0_vml_cpu"),))  # fmt: skip
_unary("special_i0e", lambda xp, x: bessel.modified_i(xp, x, 0, True),
       lambda g, self, result: g * (aten.special_i1e(self) - self.sgn() * result), refuses=(("c", "i0e_cpu"),))  # fmt: skip


def _no_low_precision(kernel: str, self: Any) -> None:
    if self.device.type == "cpu" and self.dtype in NARROW:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{type_name(self.dtype)}'")


def _i1_grad(g: Any, self: Any, result: Any) -> Any:
    _no_low_precision("i1_backward", self)
    zero = self == 0
    safe = self.masked_fill(zero, 1.0)
    return g * (aten.i0(self) - result / safe).masked_fill(zero, 0.5)


def _i1e_grad(g: Any, self: Any, result: Any) -> Any:
    _no_low_precision("i1e_backward", self)
    zero = self == 0
    safe = self.masked_fill(zero, 1.0)
    return g * (aten.special_i0e(self) - result * (self.sgn() + 1 / safe)).masked_fill(zero, 0.5)


def _finite_i(xp: Any, x: Any, order: int) -> Any:
    """Not a number at infinity, where PyTorch multiplies an infinite exponential by zero."""
    return xp.where(xp.isinf(x), math.nan, bessel.modified_i(xp, x, order, False))


_unary("special_i1", lambda xp, x: _finite_i(xp, x, 1), _i1_grad, refuses=(("c", "i1_cpu"),))
_unary("special_i1e", lambda xp, x: bessel.modified_i(xp, x, 1, True), _i1e_grad, refuses=(("c", "i1e_cpu"),))


def _plain(name: str, body: Any) -> None:
    """Without a gradient."""
    _unary(f"special_{name}", body, None, never_differentiable=True, refuses=(("cl", f"{name}_cpu"),))


for _n in (0, 1):
    _plain(f"bessel_j{_n}", lambda xp, x, n=_n: bessel.bessel_j(xp, x, n))
    _plain(f"bessel_y{_n}", lambda xp, x, n=_n: bessel.bessel_y(xp, x, n))
    _plain(f"modified_bessel_i{_n}", lambda xp, x, n=_n: _finite_i(xp, x, n))
    _plain(f"modified_bessel_k{_n}", lambda xp, x, n=_n: bessel.modified_k(xp, x, n, False))


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
        refuses=(("cl", f"{_native(name)}_cpu"),),
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
    return lambda x: _core.to_numpy(getattr(aten, name)(_core.from_numpy(xp.array(x, dtype="float64"))))


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
_unary(
    "special_erfcx",
    _erfcx,
    lambda g, self, result: g * (2 * self * result - 2 / math.sqrt(math.pi)),
    refuses=(("cl", "erfcx_cpu"),),
)
_unary(
    "special_ndtr",
    _ndtr,
    lambda g, self: g * (-0.5 * self * self).exp() / _ROOT,
    writes_out_last=True,
    refuses=(("c", "erf_vml_cpu"),),
)
_unary(
    "special_log_ndtr",
    _log_ndtr,
    lambda g, self: g * math.sqrt(2 / math.pi) / aten.special_erfcx(self * -math.sqrt(0.5)),
    refuses=(("cl", "log_ndtr_cpu"),),
)
_unary(
    "special_ndtri", _ndtri, lambda g, result: g * _ROOT * (0.5 * result * result).exp(), refuses=(("cl", "ndtri_cpu"),)
)


def _entropy(xp: Any, x: Any) -> Any:
    inside = xp.where(x > 0, x, xp.ones((), x.dtype))
    return xp.where(xp.isnan(x), x, xp.where(x > 0, -inside * xp.log(inside), xp.where(x == 0, 0.0, -math.inf)))


_unary("special_entr", _entropy, lambda g, self: g * (-(self.log()) - 1), refuses=(("c", "entr_cpu"),))

# --- other names of functions that torch has ------------------------------------------------------------------------

_SAME = {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "sinc": "sinc",
}  # fmt: skip


def _named(name: str, target: str) -> None:
    same = RECORDS[f"aten::{target}"].traits
    options = {"sparse": same["sparse"]} if "sparse" in same else {}
    composite(f"special_{name}(Tensor self) -> Tensor", out=True, pointwise=True, **options, **_SPECIAL)(
        lambda self: getattr(aten, target)(self)
    )


for _name, _target in _SAME.items():
    _named(_name, _target)


@composite("special_logit(Tensor self, float? eps=None) -> Tensor", out=True, **_SPECIAL)
def special_logit(self, eps):
    """log(x / (1 - x)) of each element, of x bounded to [eps, 1 - eps] where ``eps`` is given; as ``torch.logit``."""
    return aten.logit(self, eps)


@composite("special_round(Tensor self, *, int decimals=0) -> Tensor", out=True, **_SPECIAL)
def special_round(self, decimals):
    """Each element rounded to ``decimals`` decimal places, halves to the even neighbour; as ``torch.round``."""
    return self.round(decimals=decimals)


@composite("special_xlogy(Tensor self, Tensor other) -> Tensor", out=True, **_SPECIAL, numbers="not_all")
def special_xlogy(self, other):
    """input · log(other), and 0 where input is 0 (unless other is NaN); as ``torch.xlogy``."""
    return aten.xlogy(self, other)


with_numbers("special_xlogy", "self", "other", ("self_scalar", "other_scalar"), numbers="not_all")


@composite("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out=True, **_SPECIAL)
def special_logsumexp(self, dim, keepdim):
    """log Σ exp(x) over ``dim``, without overflow; as ``torch.logsumexp``."""
    return self.logsumexp(dim, keepdim)


@composite("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", **_SPECIAL)
def special_softmax(self, dim, dtype):
    """exp(x) / Σ exp(x) along ``dim``; as ``torch.softmax``."""
    return self.softmax(dim, dtype=dtype)


@composite("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", **_SPECIAL)
def special_log_softmax(self, dim, dtype):
    """x - log Σ exp(x) along ``dim``; as ``torch.log_softmax``."""
    return self.log_softmax(dim, dtype=dtype)
