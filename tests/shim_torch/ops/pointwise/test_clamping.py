"""Bounds as numbers and tensors: NaN, bounds that cross, gradients, dtypes that are refused."""

import math

import pytest

import shim_torch as torch

INF, NAN = math.inf, math.nan


def test_clamp_by_tensors():
    x = torch.tensor([-2.0, 0.5, 3.0, NAN])
    assert torch.clamp(x, torch.tensor(-1.0), torch.tensor([0.0, 1.0, 2.0, 2.0])).tolist()[:3] == [-1.0, 0.5, 2.0]
    assert torch.clamp(x, min=torch.tensor([0.0, 1.0, 1.0, 1.0])).tolist()[:3] == [0.0, 1.0, 3.0]
    assert math.isnan(torch.clamp(x, max=torch.tensor(1.0))[3])


def test_bounds_as_numbers():
    x = torch.tensor([-2.0, 0.5, 3.0, NAN])
    assert x.clamp(-1, 2).tolist()[:3] == [-1.0, 0.5, 2.0] and x.clamp(-1, 2)[3].isnan()
    assert x.clamp_min(1).tolist()[:3] == [1.0, 1.0, 3.0] and x.clamp_max(1).tolist()[:3] == [-2.0, 0.5, 1.0]
    assert torch.clamp(torch.tensor([1, 5]), max=2.5).tolist() == [1.0, 2.5]
    assert x.clamp_(0, 1) is x and x.tolist()[:3] == [0.0, 0.5, 1.0]


def test_the_upper_bound_holds_where_bounds_cross():
    x = torch.tensor([1.0, 2.5, 4.0])
    assert x.clamp(3, 2).tolist() == [2.0, 2.0, 2.0]
    assert x.clamp(torch.tensor(3.0), torch.tensor([2.0, 5.0, 2.0])).tolist() == [2.0, 3.0, 2.0]


def test_gradients_go_to_the_input_or_to_its_bound():
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    low, high = (torch.tensor(b, requires_grad=True) for b in (-1.0, 2.0))
    g = torch.tensor([INF, 5.0, 7.0])
    x.clamp(low, high).backward(g)
    assert x.grad.tolist() == [0.0, 5.0, 0.0]  # not INF times 0
    assert (low.grad.item(), high.grad.item()) == (INF, 7.0)


def test_what_clamp_refuses():
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        torch.ones(1).clamp()
    for call in (torch.clamp, torch.clamp_min):
        with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
            call(torch.ones(1, dtype=torch.complex64), 1)
