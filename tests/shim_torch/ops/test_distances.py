"""Distances between rows: values by NumPy, and the gradient of the count of differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("call", [F.pdist, lambda x, p: torch.cdist(x, x, p)], ids=["pdist", "cdist"])
def test_values_and_a_gradient_for_every_norm(call, p):
    x = torch.randn(5, 4, dtype=torch.float64)
    rows = x.numpy()
    want = np.linalg.norm(rows[:, None] - rows[None], ord=p, axis=-1)
    if call is F.pdist:
        want = want[np.triu_indices(5, 1)]
    for y in (call(x, p), call(x.requires_grad_(), p)):
        np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert slope.isfinite().all() and bool(slope.any()) == (p != 0)
