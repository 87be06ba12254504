"""Operators that are made of others: grids, blocks, products and sequences as PyTorch answers."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import names_cases as cases


def test_block_diag_of_two_devices_is_refused():
    with pytest.raises(RuntimeError, match="Input 0 is on device cpu and input 1 is on device meta"):
        torch.block_diag(torch.ones(2, 2), torch.ones(2, 2, device="meta"))


def test_meshgrid_checks():
    with pytest.raises(RuntimeError, match="expects all tensors to have the same dtype"):
        torch.meshgrid(torch.ones(1), torch.ones(1).long(), indexing="ij")
    with pytest.raises(RuntimeError, match="Expected 0D or 1D tensor"):
        torch.meshgrid(torch.ones(1, 1), indexing="ij")


def test_resize_formats():
    x = torch.empty(2, 3).t()
    assert x.resize_as_(x).stride() == (1, 3)
    assert x.resize_(3, 2, memory_format=torch.contiguous_format).stride() == (2, 1)
    assert torch.empty(0).resize_(3, 2, 4, 5, memory_format=torch.channels_last).stride() == (40, 1, 10, 2)
    like = torch.empty(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.empty(120).resize_as_(like, memory_format=torch.preserve_format).stride() == like.stride()
    assert torch.empty(0).resize_as_(like).is_contiguous()


def test_block_diag_of_nothing_and_vander_of_nan():
    assert torch.block_diag().shape == (1, 0)
    assert torch.vander(torch.tensor([float("nan"), 2.0]), 3)[:, -1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
