"""ATen's names of what tensors do themselves against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import tensor_names_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_detached_tensors_share_memory_and_history_is_left():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    assert torch.detach(y).data_ptr() == y.data_ptr()
    torch.detach_(y)
    assert not y.requires_grad and y.is_leaf
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        torch.detach_((x * 2).view(2, 1))


def test_values_that_are_set_by_fill_are_no_part_of_the_gradient():
    x, value = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.fill(x, value).sum().backward()
    assert x.grad.tolist() == [0, 0, 0] and value.grad.item() == 3
