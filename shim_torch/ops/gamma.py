"""Derivatives of the logarithm of the gamma function."""

from __future__ import annotations

import math

from ._record import composite, op
from ._rules import int_to_float, same

# B_2j / (2j)!, for the tail of the sum
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
_TERMS = 16


def _hurwitz(xp, s: int, a):
    """The sum of (a + k) ** -s over k >= 0, by Euler and Maclaurin; s >= 2."""
    total = xp.zeros_like(a)
    for k in range(_TERMS):
        total = total + (a + k) ** -s
    end = a + _TERMS
    total = total + end ** (1 - s) / (s - 1) + end**-s / 2
    rising = s
    for j, coefficient in enumerate(_BERNOULLI):
        total = total + coefficient * rising * end ** (-s - 2 * j - 1)
        rising *= (s + 2 * j + 1) * (s + 2 * j + 2)
    return total


@op(
    "_polygamma(Tensor self, int n) -> Tensor",
    shape=same,
    dtype=lambda self, n: int_to_float(self),
    function=False,
    method=False,
    grad={"self": lambda g, self, n: g * _polygamma_of(self, n + 1)},
)
def _polygamma(xp, self, n):
    kind = self.dtype
    return ((-1) ** (n + 1) * math.factorial(n) * _hurwitz(xp, n + 1, self.astype("float64"))).astype(kind)


def _polygamma_of(x, n):
    import shim_torch

    return shim_torch.ops.aten._polygamma(x, n)


@composite("polygamma(int n, Tensor self) -> Tensor", out=True, method=False)
def polygamma(n, self):
    """The n-th derivative of digamma; n = 0 is digamma. RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return self.digamma() if n == 0 else _polygamma_of(self, n)


@composite("mvlgamma(Tensor self, int p) -> Tensor", out=True)
def mvlgamma(self, p):
    """The multivariate gamma function's logarithm, of ``p`` variables."""
    import shim_torch

    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if not self.is_floating_point():
        self = self.to(shim_torch.get_default_dtype())
    shifts = shim_torch.arange(-p / 2 + 0.5, 0.5, 0.5, dtype=self.dtype, device=self.device)
    return (shifts + self.unsqueeze(-1)).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
