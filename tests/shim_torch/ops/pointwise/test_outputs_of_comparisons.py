"""Comparisons have no gradient, so that their out= takes operands that need one; losses of a tensor of no dims; what broadcasting leaves as it is."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize("name", "eq ne lt le gt ge logical_and logical_or logical_xor isin".split())
def test_of_two(name):
    out = torch.empty(2, dtype=torch.bool)
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 3.0])
    compare = getattr(torch, name)
    assert torch.equal(compare(x, y, out=out), compare(x, y)) and not out.requires_grad


@pytest.mark.parametrize("name", "logical_not signbit isposinf isneginf".split())
def test_of_one(name):
    out = torch.empty(2, dtype=torch.bool)
    x = torch.tensor([-1.0, float("inf")], requires_grad=True)
    assert torch.equal(getattr(torch, name)(x, out=out), getattr(torch, name)(x))


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_counts_the_dtype_of_a_tensor_of_no_dims():
    number, narrow = torch.tensor(1.5), torch.ones(2, 3, dtype=torch.bfloat16)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss):
        assert [loss(number, narrow).dtype, loss(narrow, number.double()).dtype] == [torch.float32, torch.float64]
        assert loss(torch.tensor(1), narrow).dtype == torch.bfloat16


def test_a_tensor_that_fits_is_broadcast_as_itself():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    same, wide = torch.broadcast_tensors(x, y)
    assert same is x and wide.shape == (2, 3) and wide.data_ptr() == y.data_ptr()
    assert torch.true_divide(x, 2).grad_fn.name() == "DivBackward0"
