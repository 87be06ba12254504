"""Every distribution, divergence and gradient of distribution_cases.py against the values of PyTorch 2.13."""

from __future__ import annotations

import importlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from distribution_cases import same, values

import shim_torch as torch
import shim_torch.distributions as D
from shim_torch.distributions import constraints, transforms

EXPECTED = json.loads((Path(__file__).parent / "data" / "distribution_values.json").read_text())
T = torch.tensor


@pytest.fixture(scope="module")
def found():
    return values(torch, D)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", sorted({k.split(".")[0] for k in EXPECTED if not k.startswith("kl.")}))
def test_values(found, case):
    for name, value in EXPECTED.items():
        if name.startswith(case + "."):
            assert same(found[name], value), (name, found[name], value)


def test_divergences(found):
    pairs = {k for k in EXPECTED if k.startswith("kl.")}
    assert pairs == {k for k in found if k.startswith("kl.")}
    for name in pairs:
        assert same(found[name], EXPECTED[name]), (name, found[name], EXPECTED[name])


MODULES = """bernoulli beta binomial categorical cauchy chi2 constraint_registry continuous_bernoulli dirichlet distribution
exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent
inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal
mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
relaxed_bernoulli relaxed_categorical studentT transformed_distribution transforms uniform utils von_mises weibull
wishart""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules_by_pytorchs_names(name):
    module = importlib.import_module("shim_torch.distributions." + name)
    assert all(hasattr(module, n) for n in module.__all__)


def test_slopes_of_draws():
    """Against differences of the incomplete gamma and beta functions (mpmath, 30 digits)."""
    a = T([0.05, 0.5, 3.0, 300.0, 1e6], dtype=torch.float64)
    x = T([1.0, 0.2, 2.5, 310.0, 999000.0], dtype=torch.float64)
    np.testing.assert_allclose(torch._standard_gamma_grad(a, x).numpy(), GAMMA_SLOPES, rtol=1e-7)
    y, a, b = (
        T(v, dtype=torch.float64) for v in ([0.3, 0.999, 1e-9, 0.45], [0.5, 3.0, 0.1, 900.0], [2.0, 0.2, 5.0, 1000.0])
    )
    np.testing.assert_allclose(torch._dirichlet_grad(y, a, a + b).numpy(), BETA_SLOPES, rtol=1e-8)


GAMMA_SLOPES = [12.777332600656813, 0.7940505663308434, 0.9633618288399733, 1.0170493918351244, 0.9994999998332667]
BETA_SLOPES = [0.7553986006857254, 0.38007317256989737, 1.8771501457816638e-07, 0.000513116800147919]


def test_counts_of_large_means():
    torch.manual_seed(0)
    for draws, mean, variance in (
        (torch.poisson(torch.full((20000,), 1e6)), 1e6, 1e6),
        (torch.binomial(torch.full((20000,), 1e6), torch.tensor(0.25)), 2.5e5, 1.875e5),
    ):
        assert abs(draws.double().mean().item() - mean) < 5 * (variance / 20000) ** 0.5
        np.testing.assert_allclose(draws.double().var().item(), variance, rtol=0.05)
    with pytest.raises(ValueError, match="binomial only supports floating-point dtypes for count, got: Long"):
        torch.binomial(T([3]), T([0.5]))
    assert torch.bernoulli(T([0.5], requires_grad=True)).requires_grad


def test_draws_of_tiny_concentrations_stay_inside():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64):
        draws = D.Beta(T(0.01, dtype=dtype), T(0.01, dtype=dtype)).sample((5000,))
        assert 0 < draws.min() and draws.max() < 1
        assert abs((draws < 0.1).double().mean().item() - 0.5) < 0.05


BIJECTIONS = (
    constraints.real,
    constraints.positive,
    constraints.greater_than(2.0),
    constraints.less_than(-1.0),
    constraints.interval(-1.0, 3.0),
    constraints.half_open_interval(0.0, 2.0),
    constraints.simplex,
    constraints.corr_cholesky,
    constraints.independent(constraints.positive, 1),
    constraints.stack([constraints.positive, constraints.real, constraints.unit_interval], -1),
    constraints.cat([constraints.positive, constraints.real], -1, [1, 2]),
)


@pytest.mark.parametrize("constraint", BIJECTIONS, ids=repr)
def test_biject_to(constraint):
    """Onto the constraint and back, with the jacobian that automatic differentiation finds."""
    t = D.biject_to(constraint)
    x = T([0.3, -1.2, 0.7], dtype=torch.float64)
    y = t(x)
    assert constraint.check(y).all()
    np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-7)
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape
    jacobian = torch.autograd.functional.jacobian(t, x)
    if isinstance(constraint, type(constraints.corr_cholesky)):
        jacobian = torch.stack([jacobian[1, 0], jacobian[2, 0], jacobian[2, 1]])
    elif constraint is constraints.simplex:
        jacobian = jacobian[:-1]
    expected = jacobian.det().abs().log()
    np.testing.assert_allclose(t.log_abs_det_jacobian(x, y).sum().item(), expected.item(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("constraint", [constraints.lower_cholesky, constraints.positive_definite], ids=repr)
def test_transform_to_matrices(constraint):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 3, dtype=torch.float64)
    t = D.transform_to(constraint)
    y = t(x)
    assert constraint.check(y).all()
    np.testing.assert_allclose(t(t.inv(y)).numpy(), y.numpy(), rtol=1e-9)
    with pytest.raises(NotImplementedError, match="Cannot transform _OneHot constraints"):
        D.transform_to(constraints.one_hot)


def test_transforms_are_values():
    exp, affine = transforms.ExpTransform(), transforms.AffineTransform(1.0, T([2.0, -3.0]))
    both = transforms.ComposeTransform([exp, affine])
    assert both == transforms.ComposeTransform([transforms.ExpTransform(), affine]) and both != affine
    assert both.inv.inv is both and exp.inv.inv is exp and affine.sign.tolist() == [1.0, -1.0]
    assert repr(both) == "ComposeTransform(\n    ExpTransform(),\n    AffineTransform()\n)"
    cached = exp.with_cache()
    x = T([0.5])
    assert cached.inv(cached(x)) is x and pickle.loads(pickle.dumps(both)).parts[1].loc == 1.0
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        transforms.ExpTransform(2)
    with pytest.raises(ValueError, match="in_shape, out_shape have different numbers of elements"):
        transforms.ReshapeTransform((2,), (3,))


def test_subclasses():
    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc + 1, 1.0)

    with pytest.raises(NotImplementedError, match="Subclass Shifted of Normal that defines a custom __init__ method"):
        Shifted(T([0.0])).expand((3, 1))

    class Own(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        own = Own()
    with pytest.raises(NotImplementedError):
        own.expand((2,))


def test_registered_divergences():
    class First(D.Normal):
        pass

    @D.register_kl(First, D.Normal)
    def _first(p, q):
        return T(1.0)

    @D.register_kl(D.Normal, First)
    def _second(p, q):
        return T(2.0)

    p = First(0.0, 1.0)
    assert D.kl_divergence(p, D.Normal(0.0, 1.0)) == 1 and D.kl_divergence(D.Normal(0.0, 1.0), p) == 2
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        D.kl_divergence(p, p)
