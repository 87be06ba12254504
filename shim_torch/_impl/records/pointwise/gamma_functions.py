"""torch.special: polygamma, incomplete gammas, zeta and their like."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays import bessel
from shim_torch._impl.arrays.gamma_incomplete import gamma_incomplete
from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.pointwise import with_numbers
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import broadcast, int_to_float, not_implemented, promote

_SPECIAL: dict[str, Any] = {"module": "special", "method": False}


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
       grad={"self": lambda g, n, self: g * aten.polygamma(n + 1, self)}, refuses=(("c", "trigamma"),), **_options)(
        lambda xp, n, self: _polygamma_body(xp, n, self))  # fmt: skip


def _multigamma(a: Any, p: int) -> Any:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if a.dtype == _core.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    x = a if a.is_floating_point() else a.to(_core.get_default_dtype())
    steps = torch.arange(0, p, dtype=x.dtype, device=x.device) * -0.5
    return (x.unsqueeze(-1) + steps).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


composite(
    "mvlgamma(Tensor self, int p) -> Tensor",
    gradient_name="MvlgammaBackward0",
    out=True,
    inplace=True,
    pointwise=True,
    refuses=(("c", "arange_cpu"),),
    cast_error="mvlgamma: result type {O} can't be cast to the desired output type {R}",
)(lambda self, p: _multigamma(self, p))


composite(
    "special_multigammaln(Tensor self, int p) -> Tensor", gradient_name="MvlgammaBackward0", out=True, **_SPECIAL
)(lambda self, p: _multigamma(self, p))


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

    op(f"{name}(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing(promote, ("bic", f"{name}_cpu")), out=True, inplace=True,
       native=name, grad={"self": _no_derivative(f"{name}: input"), "other": grad})(run)  # fmt: skip
    composite(f"special_gammainc{'c' if upper else ''}(Tensor self, Tensor other) -> Tensor", out=True, **_SPECIAL)(
        lambda self, other: getattr(aten, name)(self, other)
    )


_incomplete("igamma", False)


_incomplete("igammac", True)


def _zeta_dtype(*arguments: Any) -> Any:
    """The dtype that both meet in, which may be no half: a half beside float32 is one of that."""
    dtype = int_to_float(*arguments)
    if dtype.itemsize == 2 and all(a.is_cpu for a in arguments if isinstance(a, _core.TensorBase)):
        raise not_implemented("zeta_cpu", dtype)
    return dtype


@op("special_zeta(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing(_zeta_dtype, ("c", "zeta_cpu")), out=True,
    native="zeta", grad={"self": _no_derivative("zeta"), "other": lambda g, self, other: g * -self * aten.special_zeta(self + 1, other)}, **_SPECIAL, numbers="not_all")  # fmt: skip
def special_zeta(xp, self, other):
    """The Hurwitz zeta function Σ (k + other) ** -input over k = 0, 1, ...; it has no derivative by input."""
    return bessel.zeta(xp, self, other).astype(self.dtype)


def _xlog1py_grad(g: Any, self: Any, other: Any) -> Any:
    if not isinstance(other, _core.TensorBase):
        return g * math.log1p(other) if other > -1 else (g * -math.inf).masked_fill(self == 0, 0.0)
    return (g * other.log1p()).masked_fill((self == 0) & (other <= -1), 0.0)


def _xlog1py(xp: Any, self: Any, other: Any) -> Any:
    found = self * xp.log1p(other)
    return xp.where(xp.isnan(other), other, xp.where(self == 0, xp.zeros((), self.dtype), found))


op("special_xlog1py(Tensor self, Tensor other) -> Tensor", shape=broadcast, dtype=refusing(int_to_float, ("c", "xlog1py_cpu")), out=True, native="xlog1py",
   grad={"self": _xlog1py_grad,
         "other": lambda g, self, other: g * self / (other + 1)}, **_SPECIAL, numbers="not_all")(_xlog1py)  # fmt: skip


for _name in ("special_xlog1py", "special_zeta"):
    with_numbers(_name, "self", "other", ("self_scalar", "other_scalar"), numbers="not_all")
