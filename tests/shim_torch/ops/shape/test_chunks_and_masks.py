"""Chunks side by side, gathers under a mask, and hashes of tensors against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import chunks_and_masks_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_gradients_pass_where_the_mask_is_true():
    keep, at = torch.tensor([True, False, True]), torch.tensor([1, 77, 1])
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (torch._unsafe_masked_index(x, keep, [at], 5.0) * torch.tensor([2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 6, 0]
    v = torch.ones(3, dtype=torch.float64, requires_grad=True)
    call = lambda a, b: torch._unsafe_masked_index_put_accumulate(a, keep, [at], b)
    assert torch.autograd.gradcheck(call, (x, v))


def test_a_hash_tells_one_bit_and_not_the_order():
    x = torch.arange(100.0)
    other = x.clone()
    other[3] = torch.nextafter(other[3], torch.tensor(9.0))
    assert torch.hash_tensor(x).item() != torch.hash_tensor(other).item()
    assert torch.hash_tensor(x).item() == torch.hash_tensor(x.flip(0)).item()
