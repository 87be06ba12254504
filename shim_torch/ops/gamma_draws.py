"""Draws of the gamma distribution, and of Dirichlet's, which is made of it."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._utils import _scalar
from shim_torch.ops._record import composite


def _torch() -> Any:
    import shim_torch

    return shim_torch


@composite("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", method=False)
def _standard_gamma(self, generator):
    """Draws of shape ``self`` and rate 1, by Marsaglia and Tsang's rejection. They have no gradient."""
    torch = _torch()
    if not self.is_floating_point():
        raise NotImplementedError(f"\"_standard_gamma_cpu\" not implemented for '{_scalar(self.dtype)}'")
    with torch.no_grad():
        alpha = self.detach().double()
        found = _draws(torch, torch.where(alpha < 1, alpha + 1, alpha), generator)
        smaller = _uniform(alpha, generator) ** (1.0 / alpha)
        found = torch.where(alpha < 1, found * smaller, found)
        return found.to(self.dtype).clamp(min=torch.finfo(self.dtype).tiny)


@composite("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", method=False)
def _sample_dirichlet(self, generator):
    """Points of the simplex along the last dim, of concentrations ``self``. They have no gradient."""
    draws = _torch()._standard_gamma(self.double(), generator)
    return (draws / draws.sum(-1, keepdim=True)).to(self.dtype)


def _uniform(like: Any, generator: Any) -> Any:
    return _core.empty_tensor(like.shape, _core.float64, like.device).uniform_(0, 1, generator=generator)


def _draws(torch: Any, alpha: Any, generator: Any) -> Any:
    d = alpha - 1.0 / 3.0
    c = 1.0 / (9.0 * d).sqrt()
    found, todo = torch.zeros_like(d), torch.ones_like(d, dtype=torch.bool)
    while bool(todo.any()):
        x = torch.empty_like(d).normal_(generator=generator)
        v = (1 + c * x) ** 3
        u = _uniform(d, generator)
        good = (v > 0) & (u.log() < 0.5 * x * x + d - d * v + d * v.clamp(min=1e-300).log())
        found = torch.where(todo & good, d * v, found)
        todo = todo & ~good
    return found
