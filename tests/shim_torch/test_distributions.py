"""torch.distributions against the values and texts of PyTorch 2.13 (data/distributions.json), and draws against moments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from shim_torch import distributions as D

EXPECTED = json.loads((Path(__file__).parent / "data" / "distributions.json").read_text())
EXPECTED |= json.loads((Path(__file__).parent / "data" / "distributions_tails.json").read_text())
EXPECTED |= json.loads((Path(__file__).parent / "data" / "distributions_more.json").read_text())
T = torch.tensor
X = T([0.3, 0.7])
CASES = {
    "normal": (D.Normal(T([0.0, 1.0]), T([1.0, 2.0])), X),
    "lognormal": (D.LogNormal(T([0.0, 1.0]), T([1.0, 2.0])), X),
    "uniform": (D.Uniform(T([0.0, 0.0]), T([1.0, 2.0])), X),
    "laplace": (D.Laplace(T([0.0, 1.0]), T([1.0, 2.0])), X),
    "gumbel": (D.Gumbel(T([0.0, 1.0]), T([1.0, 2.0])), X),
    "exponential": (D.Exponential(T([0.5, 2.0])), X),
    "halfnormal": (D.HalfNormal(T([0.5, 2.0])), X),
    "bernoulli": (D.Bernoulli(T([0.2, 0.6])), T([1.0, 0.0])),
    "bernoulli_l": (D.Bernoulli(logits=T([0.2, -0.6])), T([1.0, 0.0])),
    "categorical": (D.Categorical(T([[0.2, 0.3, 0.6], [1.0, 1.0, 1.0]])), T([2, 0])),
    "categorical_l": (D.Categorical(logits=T([[0.2, 0.3, 0.6], [1.0, 1.0, 1.0]])), T([2, 0])),
    "geometric": (D.Geometric(T([0.2, 0.5])), T([3.0, 0.0])),
    "onehot": (D.OneHotCategorical(T([0.2, 0.3, 0.5])), T([0.0, 1.0, 0.0])),
    "gamma": (D.Gamma(T([0.5, 2.0]), T([1.0, 3.0])), X),
    "chi2": (D.Chi2(T([1.0, 3.0])), X),
    "beta": (D.Beta(T([0.5, 2.0]), T([1.0, 3.0])), X),
    "dirichlet": (D.Dirichlet(T([0.5, 2.0, 1.0])), T([0.2, 0.3, 0.5])),
    "student": (D.StudentT(T([3.0, 5.0]), T([0.0, 1.0]), T([1.0, 2.0])), X),
    "poisson": (D.Poisson(T([0.5, 2.0])), T([1.0, 3.0])),
    "negbin": (D.NegativeBinomial(T([2.0, 3.0]), logits=T([0.5, -1.0])), T([1.0, 3.0])),
    "cauchy": (D.Cauchy(T([0.1, 2.0]), T([1.0, 0.5])), X),
    "halfcauchy": (D.HalfCauchy(T([1.0, 0.5])), X),
    "pareto": (D.Pareto(T([0.2, 0.5]), T([3.0, 2.5])), X),
    "weibull": (D.Weibull(T([1.0, 2.0]), T([1.5, 2.7])), X),
    "inversegamma": (D.InverseGamma(T([3.0, 2.5]), T([1.0, 2.0])), X),
    "fisher": (D.FisherSnedecor(T([3.0, 5.0]), T([6.0, 7.0])), X),
    "binomial": (D.Binomial(5, probs=T([0.3, 0.6])), T([2.0, 4.0])),
    "binomial_l": (D.Binomial(5, logits=T([0.3, -2.0])), T([2.0, 0.0])),
    "multinomial": (D.Multinomial(4, probs=T([0.2, 0.3, 0.5])), T([1.0, 1.0, 2.0])),
    "mvn": (D.MultivariateNormal(T([0.1, 0.2]), covariance_matrix=T([[2.0, 0.5], [0.5, 1.0]])), X),
    "mvn_p": (D.MultivariateNormal(T([0.1, 0.2]), precision_matrix=T([[2.0, 0.5], [0.5, 1.0]])), X),
    "mixture": (D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), D.Normal(T([0.0, 1.0]), T([1.0, 2.0]))), T(0.5)),
    "indep": (D.Independent(D.Normal(T([0.0, 1.0]), T([1.0, 2.0])), 1), X),
}
PAIRS = {
    "normal": (D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)),
    "cat": (D.Categorical(T([0.2, 0.8])), D.Categorical(T([0.5, 0.5]))),
    "bern": (D.Bernoulli(T([0.2, 0.0, 1.0])), D.Bernoulli(T([0.5, 0.1, 0.3]))),
    "unif": (D.Uniform(T([0.0, 0.0]), T([1.0, 1.0])), D.Uniform(T([0.0, 0.5]), T([2.0, 1.0]))),
    "exp": (D.Exponential(1.0), D.Exponential(2.0)),
    "lap": (D.Laplace(0.0, 1.0), D.Laplace(1.0, 2.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    found, x = CASES[name]
    for what in ("log_prob", "entropy", "mean", "variance", "cdf"):
        if f"{name}.{what}" not in EXPECTED:
            continue
        value = getattr(found, what)
        value = value(x) if what in ("log_prob", "cdf") else value() if what == "entropy" else value
        np.testing.assert_allclose(
            value.reshape(-1).numpy(), EXPECTED[f"{name}.{what}"], rtol=1e-5, atol=1e-5, err_msg=what
        )
    if f"{name}.repr" in EXPECTED:
        assert repr(found) == EXPECTED[f"{name}.repr"]


N = D.Normal(T([0.0, 1.0]), T([1.0, 2.0]))
TRANSFORMED = {
    "affine": D.TransformedDistribution(N, [D.AffineTransform(1.0, T([2.0, 3.0]))]),
    "lognormal_t": D.TransformedDistribution(N, D.ExpTransform()),
    "logistic": D.TransformedDistribution(
        D.Uniform(T([0.0, 0.0]), T([1.0, 1.0])), [D.SigmoidTransform().inv, D.AffineTransform(1.0, 2.0)]
    ),
    "tanh": D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()]),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed(name):
    found = TRANSFORMED[name].log_prob(X)
    np.testing.assert_allclose(found.numpy(), EXPECTED[f"{name}.log_prob"], rtol=1e-4, atol=1e-5)
    assert TRANSFORMED[name].sample((5,)).shape[0] == 5


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name):
    found = D.kl_divergence(*PAIRS[name])
    np.testing.assert_allclose(found.reshape(-1).numpy(), EXPECTED[f"kl.{name}"], rtol=1e-4, atol=1e-5)


ERRORS = [
    lambda: D.Normal(0.0, -1.0),
    lambda: D.Categorical(T(1.0)),
    lambda: D.Bernoulli(T([2.0])),
    lambda: D.Uniform(0.0, 1.0).log_prob(T(3.0)),
    lambda: D.Categorical(),
    lambda: D.Uniform(1.0, 0.0),
]


def test_errors():
    texts = [v for k, v in EXPECTED.items() if k.startswith("err")]
    for call, text in zip(ERRORS, texts, strict=True):
        with pytest.raises(ValueError) as error:
            call()
        assert f"ValueError: {error.value}" == text


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
