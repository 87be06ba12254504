"""Draws of the gamma and Dirichlet distributions, through which gradients flow to their parameters."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.draws import drawn_with
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.table.rules import not_implemented
from shim_torch._impl.tensor.type_info import finfo


def _drawn(like: Any, generator: Any, kind: str) -> Any:
    made = _core.empty_tensor(tuple(like.shape), _core.float64, like.device)
    return made.normal_(0, 1, generator=generator) if kind == "normal" else made.uniform_(0, 1, generator=generator)


def _gamma_grad(g: Any, self: Any, result: Any) -> Any:
    return g * aten._standard_gamma_grad(self, result)


@direct(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", grad={"self": _gamma_grad}, batching="random"
)
def _standard_gamma(self, generator):
    """Draws of shape parameter ``self`` and rate 1."""
    if not self.is_floating_point():
        raise not_implemented("gamma_cpu", self.dtype)
    if not self.is_cuda:
        if self.dtype not in (_core.float32, _core.float64):
            raise not_implemented("gamma_cpu", self.dtype)
        return drawn_with("gamma", generator, self)
    return _log_gamma(self, generator).exp().to(self.dtype).clamp(min=finfo(self.dtype).tiny)


def _log_gamma(self: Any, generator: Any) -> Any:
    """The log of a draw (Marsaglia and Tsang's rejection, 2000), which for small shape parameters no float holds itself."""
    alpha = self.double()
    d = torch.where(alpha < 1, alpha + 1, alpha) - 1.0 / 3.0
    c = 1.0 / (9.0 * d).sqrt()
    found, todo = torch.zeros_like(d), ~alpha.isnan()
    while bool(todo.any()):
        x, u = _drawn(d, generator, "normal"), _drawn(d, generator, "uniform")
        v = (1 + c * x) ** 3
        good = (v > 0) & (u.log() < 0.5 * x * x + d - d * v + d * v.clamp(min=1e-300).log())
        found = torch.where(todo & good, d * v, found)
        todo = todo & ~good
    # A draw of a shape parameter below 1 is one of the next parameter times u ** (1 / alpha).
    less = torch.where(alpha < 1, _drawn(d, generator, "uniform").log() / alpha, 0)
    return (found.log() + less).masked_fill(alpha.isnan(), float("nan"))


_STEPS = 72


def _integral(f: Any, small: Any, large: Any) -> Any:
    """f from 0 to infinity, where f is nearly f(0) far below ``small`` and falls like exp(-v / large).

    The trapezoidal rule in log v, which converges exponentially; below its first node f is taken as constant.
    """
    low = small.log() - 9
    h = (large.log() + 4 - low) / _STEPS
    v = low.exp()
    found = f(v) * v * (1 + 1 / h.expm1())
    for _ in range(_STEPS):
        v = v * h.exp()
        found = found + f(v) * v
    return found * h


@composite("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", method=False)
def _standard_gamma_grad(self, output):
    """How a draw x moves with its shape parameter a: -dP(a, x)/da over the density at x.

    That is the integral of density(t) / density(x) * (psi(a) - log t) from 0 to x, or, with the sign turned, from x on;
    the side where psi(a) - log t keeps one sign loses no digits. To 0, t = x * exp(-v); to infinity, t = x + v.
    """
    with no_grad():
        a, x = aten.broadcast_tensors([self.double(), output.double()])
        above = a.digamma() - x.log()
        low = above >= 0
        # How fast the integrand falls: its slope at x, and the width of the density's peak.
        slope = torch.where(low, a - x, torch.where(a > 1, 1 - (a - 1) / x, 0)).clamp(min=0)
        large = 1 / (slope + torch.where(low, torch.minimum(a, a.sqrt()), a.rsqrt().clamp(max=1)))
        small = torch.where(low, large, torch.minimum(large, x))

        def integrand(v):
            power, away = torch.where(low, a, a - 1), torch.where(low, -v, (v / x).log1p())
            rest = torch.where(low, -x * away.clamp(max=0).expm1(), -v)
            return (power * away + rest).exp() * (above - away).abs()

        return (_integral(integrand, small, large) * torch.where(low, x, 1)).to(self.dtype)


@composite("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", method=False)
def _dirichlet_grad(x, alpha, total):
    """How x, a draw of Beta(alpha, total - alpha), moves with alpha, over 1 - x (see ``_standard_gamma_grad``)."""
    with no_grad():
        y, a, b = aten.broadcast_tensors([x.double(), alpha.double(), (total - alpha).double()])
        above = a.digamma() - (a + b).digamma() - y.log()
        low = above >= 0
        # Towards 0, t = near * exp(-v) with near = y; towards 1, 1 - t is that with near = 1 - y.
        power, other = torch.where(low, a, b), torch.where(low, b, a) - 1
        near, far = torch.where(low, y, 1 - y), torch.where(low, 1 - y, y)
        slope = torch.where(other > 0, power - other * near / far, 0).clamp(min=0)
        large = 1 / (slope + torch.minimum(power, (power / far).sqrt()))
        small = torch.minimum(large, far / near)

        def integrand(v):
            grown = (-near * (-v).expm1() / far).log1p()
            away = torch.where(low, above + v, grown - above)
            return (other * grown - power * v).exp() * away

        return (_integral(integrand, small, large) * near / (1 - y)).to(x.dtype)


def _dirichlet_draw_grad(g: Any, self: Any, result: Any) -> Any:
    slope = torch._dirichlet_grad(result, self, self.sum(-1, True).expand_as(self))
    return slope * (g - (result * g).sum(-1, True))


@direct(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    grad={"self": _dirichlet_draw_grad},
    batching="random",
)
def _sample_dirichlet(self, generator):
    """Draws that add up to one along the last dim, none of them 0 or 1."""
    if not self.is_floating_point():
        raise not_implemented("dirichlet", self.dtype)
    info = finfo(self.dtype)
    if self.is_cuda:
        drawn = _log_gamma(self, generator).softmax(-1).to(self.dtype)
    elif self.dtype not in (_core.float32, _core.float64):
        raise not_implemented("dirichlet", self.dtype)
    else:
        gamma = drawn_with("gamma", generator, self.double())
        drawn = (gamma / gamma.sum(-1, True)).to(self.dtype)
    return drawn.clamp(min=info.tiny, max=1 - info.eps / 2)
