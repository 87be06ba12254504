"""Activations made of pieces: values on each piece and at its ends, gradients."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch

F = torch.nn.functional
INF = math.inf


@pytest.mark.parametrize(
    ("run", "x", "y", "slope"),
    [
        (F.hardtanh, [-2, -1, 0.5, 1, 3], [-1, -1, 0.5, 1, 1], [0, 0, 1, 0, 0]),
        (F.relu6, [-1, 2, 7], [0, 2, 6], [0, 1, 0]),
        (F.hardsigmoid, [-4, 0, 3, 5], [0, 0.5, 1, 1], [0, 1 / 6, 0, 0]),
        (F.hardswish, [-4, -3, 0, 1.5, 3, 4], [0, 0, 0, 1.125, 3, 4], [0, 0, 0.5, 1, 1, 1]),
        (F.hardshrink, [-1, -0.5, 0.25, 0.75], [-1, 0, 0, 0.75], [1, 0, 0, 1]),
        (F.softshrink, [-1, -0.5, 0.25, 0.75], [-0.5, 0, 0, 0.25], [1, 0, 0, 1]),
        (lambda t: F.threshold(t, 0.5, -7), [0.25, 0.5, 1], [-7, -7, 1], [0, 0, 1]),
    ],
)
def test_pieces(run, x, y, slope):
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    found = run(t)
    assert found.tolist() == pytest.approx(y)
    found.sum().backward()
    assert t.grad.tolist() == pytest.approx(slope)


def test_what_is_no_number_stays_so():
    x = torch.tensor([math.nan])
    for run in (F.hardtanh, F.relu6, F.hardshrink, F.softshrink, F.hardswish, F.hardsigmoid):
        assert math.isnan(run(x).item()), run


def test_in_place_and_refused():
    x = torch.tensor([-5.0, 5.0])
    assert F.hardtanh_(x) is x and x.tolist() == [-1, 1]
    with pytest.raises(RuntimeError, match="lambda must be in range .* for input dtype Float, but found -1"):
        F.softshrink(x, -1)
