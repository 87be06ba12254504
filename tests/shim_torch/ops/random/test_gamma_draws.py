"""Draws of gammas and shares: gradients by their parameters against differences of the quantiles, moments."""

import numpy as np
import pytest
import scipy.special

import shim_torch as torch


@pytest.mark.parametrize("a", [0.02, 0.5, 1.0, 3.7, 40.0, 2000.0])
def test_a_draw_moves_with_its_parameter_as_its_quantile_does(a):
    shares, h = np.array([0.01, 0.2, 0.5, 0.9, 0.999]), 1e-4 * a
    x = scipy.special.gammaincinv(a, shares)
    wanted = (scipy.special.gammaincinv(a + h, shares) - scipy.special.gammaincinv(a - h, shares)) / (2 * h)
    found = torch.ops.aten._standard_gamma_grad(torch.full((5,), a, dtype=torch.float64), torch.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-4, atol=1e-250)


def test_gradients_of_draws_are_those_of_their_values():
    torch.manual_seed(1)
    a = torch.tensor([0.3, 1.0, 7.0], dtype=torch.float64, requires_grad=True)
    x = torch._standard_gamma(a)
    (g,) = torch.autograd.grad(x.sum(), a)
    torch.testing.assert_close(g, torch.ops.aten._standard_gamma_grad(a.detach(), x.detach()))


def test_the_moments_of_gammas():
    torch.manual_seed(0)
    for a in (0.4, 1.0, 6.5):
        x = torch._standard_gamma(torch.full((40000,), a, dtype=torch.float64))
        assert (x > 0).all()
        assert abs(x.mean().item() - a) < 4 * (a / 40000) ** 0.5 and abs(x.var().item() / a - 1) < 0.1


def test_shares_sum_to_one_and_move_with_their_parameters():
    torch.manual_seed(0)
    a = torch.tensor([0.5, 2.0, 9.0], dtype=torch.float64)
    x = torch._sample_dirichlet(a.expand(20000, 3))
    torch.testing.assert_close(x.sum(1), torch.ones(20000, dtype=torch.float64))
    torch.testing.assert_close(x.mean(0), a / a.sum(), rtol=0.03, atol=0)
    # The gradient of one share: how its quantile moves, as a beta's does, scaled by what is left.
    one, total = a[1].item(), a.sum().item()
    share, h = np.array([0.1, 0.3, 0.7]), 1e-5
    below = scipy.special.betainc(one, total - one, share)
    wanted = [
        (scipy.special.betaincinv(one + h, total - one, p) - scipy.special.betaincinv(one - h, total - one, p))
        / (2 * h)
        for p in below
    ]
    given = [torch.tensor(v, dtype=torch.float64).expand(3).contiguous() for v in (one, total)]
    found = torch._dirichlet_grad(torch.from_numpy(share), given[0], given[1])
    np.testing.assert_allclose(found.numpy() * (1 - share), wanted, rtol=1e-3)


def test_refused_dtypes():
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch._standard_gamma(torch.ones(2, dtype=torch.int64))
