"""In-place forms of the views and their copies against PyTorch 2.13; what shares memory."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import view_variants_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_in_place_forms_give_the_tensor_itself_over_the_same_memory():
    x = torch.arange(6.0).view(1, 2, 3)
    place = x.data_ptr()
    for call in (lambda: x.squeeze_(0), lambda: x.t_(), lambda: x.unsqueeze_(1), lambda: x.transpose_(0, 2)):
        assert call() is x and x.data_ptr() == place
    assert x.shape == (2, 1, 3) and x.squeeze(1).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gradients_of_what_was_turned_in_place():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = (x * 2).t_()
    (y * torch.arange(6.0).view(3, 2)).sum().backward()
    assert torch.equal(x.grad, torch.arange(6.0).view(3, 2).t() * 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.t_()


def test_copies_share_nothing():
    x = torch.zeros(2, 3)
    made = [
        torch.alias_copy(x),
        torch.t_copy(x),
        *torch.split_copy(x, 1),
        *torch.unbind_copy(x),
        torch.view_copy(x, (6,)),
    ]
    x.fill_(1)
    assert all(t._base is None and not t.any() and t.is_contiguous() for t in made)
