"""Medians with NaN and without: the lower of two middle elements, indices, empty tensors, gradients."""

import math

import numpy as np
import pytest

import shim_torch as torch

NAN = float("nan")


def test_median_of_nothing_is_nan():
    assert math.isnan(torch.median(torch.tensor([])))


def test_nan_is_selected_first_by_medians_and_ranked_last_by_kthvalue():
    x = torch.tensor([[3.0, float("nan"), 1.0, 2.0], [4.0, 2.0, 8.0, 6.0]])
    values, places = x.median(1)
    assert np.isnan(values[0].item()) and places.tolist() == [1, 0]
    assert x.kthvalue(3, 1)[0].tolist() == [3.0, 6.0]
    assert torch.tensor([1.0, float("nan"), 0.5, 3.0]).cummax(0)[1].tolist() == [0, 1, 1, 1]
    assert torch.zeros(0, dtype=torch.int8).median().item() == 0


@pytest.mark.devices("cpu", "cuda")
def test_nanmedian_skips_nan(device):
    t = torch.tensor([[1.0, NAN, 3.0, 2.0], [NAN, NAN, 5.0, 4.0]])
    assert t.nanmedian().item() == 3.0
    values, indices = t.nanmedian(1)
    assert (values.tolist(), indices.tolist()) == ([2.0, 4.0], [3, 3])


def test_the_lower_of_two_middle_elements():
    x = torch.tensor([[4, 1, 3, 2], [5, 5, 8, 5]])
    assert x.median().item() == 4
    values, places = x.median(1, keepdim=True)
    assert values.tolist() == [[2], [5]] and places[0].item() == 3
    assert values.equal(x.gather(1, places))


def test_gradients_go_to_the_median():
    x = torch.tensor([[4.0, 1.0, 3.0, 2.0], [7.0, 5.0, 8.0, 6.0]], requires_grad=True)
    x.median(1)[0].backward(torch.tensor([2.0, 3.0]))
    assert x.grad.tolist() == [[0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0]]
    y = torch.tensor([1.0, 2.0, 2.0, 2.0, 3.0], requires_grad=True)
    y.median().backward(torch.tensor(3.0))
    assert y.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]  # shared by equal elements
