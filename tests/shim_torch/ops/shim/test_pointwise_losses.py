"""Losses of differences as one operator each: values, gradients, gradients of gradients, and no numbers kept."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F


def each(name, d, bound):
    m = np.abs(d)
    if name == "mse_loss":
        return d * d
    if name == "l1_loss":
        return m
    if name == "smooth_l1_loss":
        return np.where(m < bound, 0.5 * m * m / bound, m - 0.5 * bound)
    return np.where(m <= bound, 0.5 * m * m, bound * (m - 0.5 * bound))


def slope(name, d, bound):
    sign = np.sign(d)
    if name in ("mse_loss", "l1_loss"):
        return 2 * d if name == "mse_loss" else sign
    if name == "smooth_l1_loss":
        return np.where(np.abs(d) < bound, d / bound, sign)
    return np.where(np.abs(d) <= bound, d, bound * sign)


NAMES = {"mse_loss": "mse", "l1_loss": "l1", "smooth_l1_loss": "smooth_l1", "huber_loss": "huber"}


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_values_and_gradients(name, reduction, device):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((7, 33)) * 2, rng.standard_normal((7, 33))
    for bound in (1.0, 0.3):
        settings = {"smooth_l1_loss": {"beta": bound}, "huber_loss": {"delta": bound}}.get(name, {})
        x, y = (torch.from_numpy(t).to(device).requires_grad_() for t in (a, b))
        loss = getattr(F, name)(x, y, reduction=reduction, **settings)
        losses = each(name, a - b, bound)
        wanted = losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()
        np.testing.assert_allclose(loss.detach().cpu().numpy(), wanted, rtol=1e-12)
        (3 * loss).sum().backward()
        gradient = 3 * slope(name, a - b, bound) / (a.size if reduction == "mean" else 1)
        np.testing.assert_allclose(x.grad.cpu().numpy(), gradient, rtol=1e-12)
        np.testing.assert_allclose(y.grad.cpu().numpy(), -gradient, rtol=1e-12)


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("name", NAMES.values())
def test_gradients_of_gradients(name, device):
    x, y = (torch.randn(3, 4, dtype=torch.float64).requires_grad_() for _ in range(2))

    def call(a, b):
        return torch.ops.shim.pointwise_loss(a, b, name, True, 0.7)

    assert torch.autograd.gradcheck(call, (x, y)) and torch.autograd.gradgradcheck(call, (x, y))


@pytest.mark.devices("cpu", "cuda")
def test_no_numbers_stay(device):
    x, y = torch.tensor([1.0, float("nan")]).requires_grad_(), torch.zeros(2)
    for name in NAMES:
        x.grad = None
        loss = getattr(F, name)(x, y)
        loss.backward()
        assert torch.isnan(loss).item() and x.grad.isnan().tolist() == [False, name != "l1_loss"]
        with torch.no_grad():
            grad = torch.ops.shim.pointwise_loss_backward(torch.ones(()), x, y, NAMES[name], True, 1.0)
        torch.testing.assert_close(grad.cpu(), x.grad.cpu(), equal_nan=True)
