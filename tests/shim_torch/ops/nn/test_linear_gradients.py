"""Gradients of linear: which are computed and saved, second ones, and what hooks see."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(torch.get_default_device(), dtype)


def numbers(t):
    return t.detach().to(torch.float64).cpu().numpy()


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_only_wanted_gradients_run_and_are_saved(needs):
    rng = np.random.default_rng(1)
    tensors = [random(rng, 6, 5), random(rng, 4, 5), random(rng, 4)]
    for t, need in zip(tensors, needs, strict=True):
        t.requires_grad_(need)
    y = F.linear(*tensors)
    if not any(needs):
        assert y.grad_fn is None
        return
    for attribute, kept in (("_saved_weight", needs[0]), ("_saved_input", needs[1])):
        assert hasattr(y.grad_fn, attribute) == kept
    before = _core.gemm_status()["cpu"]
    y.sum().backward()
    assert _core.gemm_status()["cpu"] - before == needs[0] + needs[1]
    x, w, _ = map(numbers, tensors)
    wanted = (np.ones((6, 4)) @ w, np.ones((4, 6)) @ x, np.full(4, 6.0))
    for t, need, want in zip(tensors, needs, wanted, strict=True):
        assert (t.grad is not None) == need
        if need:
            np.testing.assert_allclose(numbers(t.grad), want, rtol=1e-12)


def test_no_grad_saves_nothing():
    w = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        assert F.linear(torch.ones(4, 3), w).grad_fn is None


def test_second_derivatives():
    rng = np.random.default_rng(5)
    x, w, b = (random(rng, *s).requires_grad_() for s in ((3, 5), (4, 5), (4,)))
    g = random(rng, 3, 4).requires_grad_()
    dx, dw, db = torch.autograd.grad(F.linear(x, w, b), (x, w, b), g, create_graph=True)
    vx, vw, vb = random(rng, 3, 5), random(rng, 4, 5), random(rng, 4)
    ((dx * vx).sum() + (dw * vw).sum() + (db * vb).sum()).backward()
    xn, wn, gn = map(numbers, (x, w, g))
    np.testing.assert_allclose(numbers(g.grad), numbers(vx) @ wn.T + numbers(vb) + xn @ numbers(vw).T, rtol=1e-10)
    np.testing.assert_allclose(numbers(x.grad), gn @ numbers(vw), rtol=1e-10)
    np.testing.assert_allclose(numbers(w.grad), gn.T @ numbers(vx), rtol=1e-10)


def test_second_gradient_is_added_by_the_product():
    rng = np.random.default_rng(7)
    w = random(rng, 4, 5).requires_grad_()
    total = np.zeros((4, 5))
    for step in range(3):
        x, g = random(rng, 2, 3, 5), random(rng, 2, 3, 4)
        y = F.linear(x, w)
        before, place = _core.gemm_status()["cpu"], None if w.grad is None else w.grad.data_ptr()
        version = 0 if w.grad is None else w.grad._version
        y.backward(g)
        total += numbers(g).reshape(6, 4).T @ numbers(x).reshape(6, 5)
        np.testing.assert_allclose(numbers(w.grad), total, rtol=1e-12)
        assert _core.gemm_status()["cpu"] == before + 1
        assert step == 0 or (w.grad.data_ptr() == place and w.grad._version > version)


def test_hooks_and_targets_see_the_gradient_alone():
    x, w = torch.ones(3, 5), torch.ones(4, 5, requires_grad=True)
    w.grad = torch.full((4, 5), 10.0)
    (dw,) = torch.autograd.grad(F.linear(x, w).sum(), w)
    assert (dw == 3).all() and (w.grad == 10).all()
    seen = []
    handle = w.register_hook(lambda g: seen.append(g.clone()))
    F.linear(x, w).sum().backward()
    assert (seen[0] == 3).all() and (w.grad == 13).all()
    handle.remove()
    (F.linear(x, w) + F.linear(2 * x, w)).sum().backward()
    assert (w.grad == 22).all()
