"""Tensor.apply_, map_ and map2_: a Python function of each element."""

import pytest

import shim_torch as torch


def test_map_broadcasts():
    x = torch.ones(2, 3)
    assert x.map_(torch.arange(3.0), lambda a, b: a + b).tolist() == [[1, 2, 3]] * 2
    assert x.map2_(torch.arange(3.0), torch.ones(1), lambda a, b, c: a + b * c).tolist() == [[1, 3, 5]] * 2
    with pytest.raises(TypeError, match="not callable"):
        x.map_(x, "no function")


def test_apply_checks_what_the_function_gives():
    assert torch.arange(4).view(2, 2).t().apply_(lambda v: v * 2).tolist() == [[0, 4], [2, 6]]
    with pytest.raises(TypeError, match="must be real number, not str"):
        torch.arange(4).apply_(lambda v: "text")
