"""Angles, polar form and conjugates: values at the edges, gradients."""

import math

import numpy as np
import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import complex_numbers_cases as cases


def test_polar_keeps_infinities_apart():
    found = torch.polar(torch.tensor([-math.inf]), torch.tensor([4.0]))
    assert found.real.item() == math.inf and found.imag.item() == math.inf


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polar(dtype):
    length, turn = torch.tensor([1.0, 2.0, INF, 0.5], dtype=dtype), torch.tensor([0.0, 1.0, math.pi, -2.0], dtype=dtype)
    found = torch.polar(length, turn)
    np.testing.assert_allclose(found.real.numpy(), (length * turn.cos()).numpy(), rtol=1e-6)
    np.testing.assert_allclose(found.imag.numpy(), (length * turn.sin()).numpy(), rtol=1e-6)
    turned = torch.polar(length.view(2, 2).t(), turn.view(2, 2).t())
    np.testing.assert_allclose(turned.t().reshape(-1).numpy(), found.numpy(), rtol=1e-6)


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
