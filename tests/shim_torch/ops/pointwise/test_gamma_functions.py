"""polygamma, multigammas, incomplete gammas, zeta and xlog1py: known values, gradients, what is refused."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_known_values():
    one = torch.tensor(1.0, dtype=torch.float64)
    assert torch.polygamma(1, one).item() == pytest.approx(math.pi**2 / 6)
    assert torch.polygamma(0, one).item() == pytest.approx(-0.5772156649015329)
    assert torch.special.zeta(2 * one, one).item() == pytest.approx(math.pi**2 / 6)
    x = torch.tensor(0.7, dtype=torch.float64)
    assert torch.igamma(one, x).item() == pytest.approx(1 - math.exp(-0.7))
    assert torch.special.gammaincc(one, x).item() == pytest.approx(math.exp(-0.7))
    assert torch.mvlgamma(2 * one, 2).item() == pytest.approx(math.log(math.pi) / 2 + math.lgamma(2) + math.lgamma(1.5))


def test_products_with_logarithms():
    x = torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64)
    y = torch.tensor([-1.0, 3.0, math.nan], dtype=torch.float64)
    found = torch.special.xlog1py(x, y).tolist()
    assert found[:2] == pytest.approx([0, 2 * math.log(4)]) and math.isnan(found[2])
    assert torch.special.xlog1py(2, y[1:2]).item() == pytest.approx(2 * math.log(4))


def test_gradients():
    x = torch.tensor([0.7, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: torch.polygamma(1, t), x)
    assert torch.autograd.gradcheck(lambda t: torch.mvlgamma(t + 1, 2), x)
    assert torch.autograd.gradcheck(lambda t: torch.igamma(torch.ones_like(t), t), x)
    assert torch.autograd.gradcheck(lambda t: torch.special.xlog1py(t, t), x)


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="polygamma\\(n, x\\) does not support negative n"):
        torch.polygamma(-1, torch.ones(1))
