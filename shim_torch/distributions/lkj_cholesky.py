"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.beta import Beta
from shim_torch.distributions.distribution import Distribution

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of density ~ |C|**(concentration - 1) (Lewandowski et al., 2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = ("concentration", "_beta")
    concentration: Any

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        batch = self._set(concentration=concentration)
        c = self.concentration
        row = torch.arange(dim - 1, dtype=c.dtype, device=c.device)
        row = torch.cat([row.new_zeros((1,)), row])
        self._beta = Beta(row + 0.5, (c + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * row)
        super().__init__(batch, torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws by the onion method: each row adds a direction on the sphere, of a beta-distributed length."""
        with torch.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            c = self.concentration
            normal = torch.randn(self._extended_shape(sample_shape), dtype=c.dtype, device=c.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)  # the first row has nothing below the diagonal
            rows = squared.sqrt() * direction
            left = torch.clamp(1 - rows.pow(2).sum(dim=-1), min=torch.finfo(rows.dtype).tiny)
            return rows + torch.diag_embed(left.sqrt())

    def log_prob(self, value: Any) -> Any:
        diagonal, c = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:], self.concentration
        order = torch.arange(2, self.dim + 1, device=c.device)
        order = 2 * (c - 1).unsqueeze(-1) + self.dim - order
        unnormalized = torch.sum(order * diagonal.log(), dim=-1)
        n = self.dim - 1
        alpha = c + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return unnormalized - norm

__getattr__ = _asked_of(__name__)
