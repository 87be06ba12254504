"""autograd.Function whose forward returns more than tensors."""

from __future__ import annotations

import pytest

import shim_torch as torch

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


def test_backward_gets_none_for_results_that_are_no_tensors():
    seen = []

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, None, x * 3, "name"

        @staticmethod
        def backward(ctx, first, none, second, name):
            seen.append((none, name))
            return first * 2 + second * 3

    x = torch.ones(2, requires_grad=True)
    a, b, c, d = Split.apply(x)
    assert b is None
    assert d == "name"
    (a.sum() + 10 * c.sum()).backward()
    assert x.grad.tolist() == [32.0, 32.0]
    assert seen == [(None, None)]


def test_set_leaves_the_versions_of_the_other_tensors_alone():
    w = torch.ones(4, requires_grad=True)
    y = (w * w).sum()
    before = w._version
    alias = w.new_empty(0).set_(w.untyped_storage(), 0, (4,), (1,))
    assert (w._version, alias._version) == (before, 1)
    y.backward()
    assert w.grad.tolist() == [2.0] * 4
