"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.beta import Beta
from shim_torch.distributions.distribution import Distribution
from shim_torch.nn.functional import normalize

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
        self.dim, batch = dim, self._set(concentration=concentration)
        # The squared length of a row below the diagonal, by how many rows with such a length are above it.
        above = (self._order() - 1).clamp(min=0)
        self._beta = Beta(above + 0.5, self.concentration.unsqueeze(-1) + (dim - 2 - above) / 2)
        super().__init__(batch, (dim, dim), validate_args)

    def _order(self) -> Any:
        """0 .. dim - 1."""
        return torch.arange(self.dim, dtype=self.concentration.dtype, device=self.concentration.device)

    @torch.no_grad()
    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws by the onion method: each row adds a direction on the sphere, of a beta-distributed length."""
        length = self._beta.sample(sample_shape).sqrt()
        normal = torch.randn(self._extended_shape(sample_shape), dtype=length.dtype, device=length.device)
        # The first row, of nothing below the diagonal, stays zero.
        rows = normalize(normal.tril(-1), dim=-1) * length.unsqueeze(-1)
        diagonal = (1 - rows.square().sum(-1)).clamp(min=torch.finfo(rows.dtype).tiny).sqrt()
        return rows + diagonal.diag_embed()

    def log_prob(self, value: Any) -> Any:
        """Powers of the diagonal, over the product of the integrals that each row adds."""
        rows, c = self._order()[1:], self.concentration.unsqueeze(-1)
        powers = (2 * c + self.dim - 3 - rows) * self._checked(value).diagonal(dim1=-2, dim2=-1)[..., 1:].log()
        most = c + (self.dim - 1) / 2
        integrals = rows / 2 * math.log(math.pi) + torch.lgamma(most - rows / 2) - torch.lgamma(most)
        return powers.sum(-1) - integrals.sum(-1)
