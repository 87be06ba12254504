"""Softplus, logsigmoid and Mish: special values as PyTorch's, gradients in one pass, settings of softplus."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

INF, NAN = math.inf, math.nan

X = [-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0, NAN, INF, -INF]


# PyTorch 2.13, float32.
EXPECTED = {
    "softplus": [9.357622912219837e-14, 0.04858735203742981, 0.4740769863128662, 0.6931471824645996, 0.9740769863128662,
                 3.0485873222351074, 30.0, NAN, INF, 0.0],
    "mish": [-2.807286954981114e-12, -0.14564746618270874, -0.22074376046657562, 0.0, 0.37524524331092834,
             2.98653507232666, 30.0, NAN, INF, NAN],
    "logsigmoid": [-30.0, -3.0485873222351074, -0.9740769863128662, -0.6931471824645996, -0.4740769863128662,
                   -0.04858735203742981, -9.357622912219837e-14, NAN, 0.0, -INF],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_special_values(name):
    for times in (1, 60):  # alone, and in the vector loop
        got = getattr(F, name)(torch.tensor(X * times)).numpy()
        np.testing.assert_allclose(got, np.float32(EXPECTED[name] * times), rtol=3e-7, atol=2e-19)


@pytest.mark.parametrize("name", EXPECTED)
def test_gradients_in_one_pass_are_the_formulas(name):
    x = torch.randn(7, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(F, name), (x,))
    assert torch.autograd.gradgradcheck(getattr(F, name), (x,))


def test_softplus_is_its_input_beyond_the_threshold():
    x = torch.tensor([-1.0, 0.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = F.softplus(x, 2, 5)  # 2 · 3 is beyond 5
    want = [math.log1p(math.exp(2 * v)) / 2 for v in (-1.0, 0.5, 2.0)]
    np.testing.assert_allclose(y[:3].detach().numpy(), want, rtol=1e-14)
    y.sum().backward()
    assert y[3].item() == 3.0 and x.grad[3].item() == 1.0
    np.testing.assert_allclose(x.grad[:3].numpy(), [1 / (1 + math.exp(-2 * v)) for v in (-1.0, 0.5, 2.0)], rtol=1e-14)


def test_integers_are_refused():
    for name, kernel in (("softplus", "softplus_cpu"), ("logsigmoid", "log_sigmoid_cpu"), ("mish", "mish_cpu")):
        with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Long'"):
            getattr(F, name)(torch.tensor([1]))
