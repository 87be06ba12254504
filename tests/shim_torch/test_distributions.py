"""torch.distributions against the values and texts of PyTorch 2.13 (data/distributions.json), and draws against moments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from distribution_single_cases import ASKED, asked, cases, pairs, refused, transformed

import shim_torch as torch
from shim_torch import distributions as D

EXPECTED = json.loads((Path(__file__).parent / "data" / "distributions.json").read_text())
T = torch.tensor
CASES, TRANSFORMED, PAIRS = cases(torch), transformed(torch), pairs(torch)


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    found, x = CASES[name]
    for what in ASKED:
        if f"{name}.{what}" in EXPECTED:
            np.testing.assert_allclose(
                asked(found, what, x).reshape(-1).numpy(),
                EXPECTED[f"{name}.{what}"],
                rtol=1e-5,
                atol=1e-5,
                err_msg=what,
            )
    assert repr(found) == EXPECTED[f"{name}.repr"]


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed(name):
    found = TRANSFORMED[name].log_prob(T([0.3, 0.7]))
    np.testing.assert_allclose(found.numpy(), EXPECTED[f"{name}.log_prob"], rtol=1e-4, atol=1e-5)
    assert TRANSFORMED[name].sample((5,)).shape[0] == 5


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name):
    found = D.kl_divergence(*PAIRS[name])
    np.testing.assert_allclose(found.reshape(-1).numpy(), EXPECTED[f"kl.{name}"], rtol=1e-4, atol=1e-5)


def test_errors():
    for call, text in zip(refused(torch), EXPECTED["refused"], strict=True):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == text


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, (d, _) in CASES.items()
        if n
        not in ("categorical", "categorical_l", "indep", "lognormal", "student", "inversegamma", "fisher", "pareto")
        and bool(d.mean.isfinite().all())
    ],
)
def test_draws_have_the_mean_and_variance(name):
    torch.manual_seed(0)
    found, _ = CASES[name]
    draws = found.sample((20000,))
    assert draws.shape == (20000, *found.batch_shape, *found.event_shape)
    error = (found.variance / 20000).sqrt() * 6 + 1e-3
    assert ((draws.mean(0) - found.mean).abs() < error).all()
    np.testing.assert_allclose(draws.var(0).numpy(), found.variance.numpy(), rtol=0.2, atol=1e-3)


def test_categorical_draws():
    torch.manual_seed(0)
    draws = D.Categorical(T([0.1, 0.2, 0.7])).sample((20000,))
    np.testing.assert_allclose(torch.bincount(draws).numpy() / 20000, [0.1, 0.2, 0.7], atol=0.02)
    assert D.Categorical(T([[0.5, 0.5]] * 3)).sample((2,)).shape == (2, 3)


def test_gradients_through_draws():
    mean = T(1.0, requires_grad=True)
    D.Normal(mean, 2.0).rsample((4,)).sum().backward()
    assert mean.grad.item() == 4.0
    assert D.Normal(T([0.0]), T([1.0])).expand((3,)).log_prob(T(0.0)).shape == (3,)
    with pytest.raises(NotImplementedError):
        D.Bernoulli(T([0.5])).rsample()


def test_operators_of_gamma_and_dirichlet_draws():
    torch.manual_seed(0)
    alpha = torch.tensor([0.5, 2.0, 30.0]).expand(20000, 3)
    draws = torch._standard_gamma(alpha)
    np.testing.assert_allclose(draws.mean(0).numpy(), [0.5, 2, 30], rtol=0.05)
    np.testing.assert_allclose(draws.var(0).numpy(), [0.5, 2, 30], rtol=0.1)
    shares = torch._sample_dirichlet(torch.tensor([1.0, 2.0, 5.0]).expand(20000, 3))
    np.testing.assert_allclose(shares.sum(1).numpy(), 1, atol=1e-6)
    np.testing.assert_allclose(shares.mean(0).numpy(), [0.125, 0.25, 0.625], rtol=0.05)
    with pytest.raises(NotImplementedError, match="gamma_cpu"):
        torch._standard_gamma(torch.tensor([1]))


def test_gradients_flow_through_draws():
    """Of a gamma draw by its shape: PyTorch 2.13 gives the same numbers to three digits or more."""
    shape = T([0.5, 2.0, 30.0], dtype=torch.float64)
    found = torch._standard_gamma_grad(shape, T([0.2, 1.7, 31.0], dtype=torch.float64))
    np.testing.assert_allclose(found.numpy(), [0.794051, 0.999883, 1.022142], rtol=1e-4)
    torch.manual_seed(0)
    a = T([2.0, 3.0], requires_grad=True)
    D.Gamma(a, 1.0).rsample((4000,)).mean(0).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), [1.0, 1.0], atol=0.1)  # the mean is the shape parameter
    b = T([1.0, 2.0, 3.0], requires_grad=True)
    draws = torch._sample_dirichlet(b.expand(4000, 3))
    np.testing.assert_allclose(draws.sum(-1).detach().numpy(), 1.0, rtol=1e-5)
    draws[:, 0].mean().backward()
    np.testing.assert_allclose(b.grad.numpy(), [5 / 36, -1 / 36, -1 / 36], atol=0.02)
