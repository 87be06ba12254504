"""Quantiles against PyTorch 2.13 and against NumPy's."""

import numpy as np
import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import quantiles_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("kind", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("n", [1, 2, 9, 500])
def test_numpys_quantiles(kind, n):
    x, q = np.random.default_rng(n).standard_normal((n, 3)), np.linspace(0, 1, 12)
    found = torch.quantile(torch.from_numpy(x), torch.from_numpy(q), 0, interpolation=kind)
    np.testing.assert_allclose(found.numpy(), np.quantile(x, q, 0, method=kind), rtol=1e-12)
    x[::3, 1] = np.nan
    if n > 1:
        found = torch.nanquantile(torch.from_numpy(x), torch.from_numpy(q), 0, interpolation=kind)
        np.testing.assert_allclose(found.numpy(), np.nanquantile(x, q, 0, method=kind), rtol=1e-12)


def test_gradients_go_to_the_neighbours():
    x = torch.tensor([3.0, 1.0, 2.0, 5.0], dtype=torch.float64, requires_grad=True)
    torch.quantile(x, 0.4).backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 0, 0.8, 0] + np.array([0.2, 0, 0, 0]), atol=1e-12)
    assert torch.autograd.gradcheck(lambda t: torch.quantile(t, torch.tensor([0.1, 0.7]).double()), (x,))
