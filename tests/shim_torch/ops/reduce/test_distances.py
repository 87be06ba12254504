"""Distances between rows: values by NumPy, gradients, the module."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )


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


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("shape", [((5, 7), (6, 7)), ((2, 3, 4), (2, 150, 4)), ((0, 3), (2, 3)), ((3, 0), (2, 0))])
def test_distances(shape, p):
    a, b = (array(s, "float64", i) for i, s in enumerate(shape))
    d = np.abs(a[..., :, None, :] - b[..., None, :, :])
    wanted = d.sum(-1) if p == 1 else np.sqrt((d * d).sum(-1)) if p == 2 else d.max(-1, initial=0)
    assert np.allclose(torch.cdist(torch.from_numpy(a), torch.from_numpy(b), p).numpy(), wanted)


def test_pairwise_distance_keeps_its_norm_by_pytorchs_name():
    distance = torch.nn.PairwiseDistance(p=1.0, keepdim=True)
    assert (distance.norm, distance.eps, distance.keepdim) == (1.0, 1e-6, True)
    assert repr(distance) == "PairwiseDistance()" and distance.__class__.__module__.endswith("nn.modules.distance")
    torch.testing.assert_close(distance(torch.ones(1, 2), torch.zeros(1, 2)), torch.tensor([[2.0]]))
