"""Which strides results have: those of TensorIterator, channels_last kept by cat, resize_ and its formats."""

from __future__ import annotations

import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((2, 3, 4), (1, 2, 0), (4, 8, 1)),
        ((4, 3, 2), (10, 0, 3), (6, 2, 1)),
        ((4, 3, 2), (10, 1, 2), (6, 1, 3)),
        ((4, 3, 2), (1, 4, 12), (1, 4, 12)),
    ],
)
def test_unary_results_follow_their_input(sizes, strides, expected):
    x = torch.empty_strided(sizes, strides).fill_(1.0)  # one value for all elements: overlaps do not matter
    assert x.exp().stride() == torch.empty_like(x).stride() == expected


def test_cat_keeps_channels_last():
    parts = [torch.arange(96.0).view(2, 3, 4, 4).contiguous(memory_format=torch.channels_last) for _ in range(2)]
    joined = torch.cat(parts, 1)
    assert joined.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(joined[:, 3:], parts[1])
    assert torch.cat([parts[0], parts[1].contiguous()], 1).is_contiguous()


def test_resize_formats():
    x = torch.empty(2, 3).t()
    assert x.resize_as_(x).stride() == (1, 3)
    assert x.resize_(3, 2, memory_format=torch.contiguous_format).stride() == (2, 1)
    assert torch.empty(0).resize_(3, 2, 4, 5, memory_format=torch.channels_last).stride() == (40, 1, 10, 2)
    like = torch.empty(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.empty(120).resize_as_(like, memory_format=torch.preserve_format).stride() == like.stride()
    assert torch.empty(0).resize_as_(like).is_contiguous()


def test_none_stands_for_an_empty_list_of_dims():
    assert torch.roll(torch.arange(4), 1, None).tolist() == [3, 0, 1, 2]


def test_block_diag_of_nothing_and_vander_of_nan():
    assert torch.block_diag().shape == (1, 0)
    assert torch.vander(torch.tensor([float("nan"), 2.0]), 3)[:, -1].tolist() == [1.0, 1.0]
