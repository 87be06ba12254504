"""Draws of the gamma and Dirichlet distributions, through which gradients flow to their parameters."""

from __future__ import annotations

from typing import Any

from native import _core

from ._record import composite, direct
from ._rules import not_implemented


def _torch() -> Any:
    import shim_torch

    return shim_torch


def _drawn(like: Any, generator: Any, kind: str) -> Any:
    made = _core.empty_tensor(tuple(like.shape), _core.float64, like.device)
    return made.normal_(0, 1, generator=generator) if kind == "normal" else made.uniform_(0, 1, generator=generator)


def _gamma_grad(g: Any, self: Any, result: Any) -> Any:
    return g * _torch().ops.aten._standard_gamma_grad(self, result)


@direct("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", grad={"self": _gamma_grad})
def _standard_gamma(self, generator):
    """Draws of shape parameter ``self`` and rate 1 (Marsaglia and Tsang's rejection, 2000)."""
    torch = _torch()
    if not self.is_floating_point():
        raise not_implemented("_standard_gamma_cpu", self.dtype)
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
    found = torch.where(alpha < 1, found * _drawn(d, generator, "uniform") ** (1.0 / alpha), found)
    return found.masked_fill(alpha.isnan(), float("nan")).to(self.dtype).clamp(min=torch.finfo(self.dtype).tiny)


@composite("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", method=False)
def _standard_gamma_grad(self, output):
    """How a draw moves with its shape parameter: -∂P(a, x)/∂a over the density, P's tail taken where it is small."""
    torch = _torch()
    with torch.no_grad():
        a, x = self.double(), output.double()
        step = 1e-5 * a.clamp(min=1e-3)
        low = (torch.igamma(a + step, x) - torch.igamma(a - step, x)) / (2 * step)
        high = (torch.igammac(a - step, x) - torch.igammac(a + step, x)) / (2 * step)
        density = ((a - 1) * x.log() - x - a.lgamma()).exp()
        return (-torch.where(x < a, low, high) / density).to(self.dtype)


@composite("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", method=False)
def _sample_dirichlet(self, generator):
    """Draws that add up to one along the last dim."""
    draws = _torch().ops.aten._standard_gamma(self.double(), generator)
    return (draws / draws.sum(-1, True)).to(self.dtype)
