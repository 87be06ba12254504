"""PyTorch's own probes against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import probes_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_a_warning_of_backward_comes_in_backward():
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.aten._test_warn_in_autograd(x)
    with pytest.warns(UserWarning, match="Warn from backward"):
        y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_the_view_is_one():
    x = torch.ones(2, 3)
    assert torch._test_autograd_multiple_dispatch_view(x)._base is x
    assert torch._test_autograd_multiple_dispatch_view_copy(x)._base is None
