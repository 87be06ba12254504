"""Typed kernels of sums, ranges, views and lists: what is declined, what is lent, and who keeps the results."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def declines(operator: str, why: str) -> int:
    return _core.operator_declines().get(operator, {}).get(why, 0)


def native_calls(operator: str) -> int:
    return _core.operator_counts().get(operator, (0, 0))[1]


def test_an_in_place_kernel_gives_the_tensor_itself():
    x = torch.ones(3)
    assert x.add_(1) is x and x.mul_(torch.ones(3)) is x and x.zero_() is x and x.copy_(torch.ones(3)) is x
    assert x.contiguous() is x and x.to(torch.float32) is x


def test_what_pytorch_refuses_is_left_to_the_body():
    why = "a difference of bools, which PyTorch refuses"
    before = declines("aten::sub.Tensor", why)
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with two bool tensors is not supported"):
        torch.tensor([True]) - torch.tensor([True])
    assert declines("aten::sub.Tensor", why) == before + 1


def test_ranges_over_integers_of_more_than_64_bits_are_no_kernels():
    why = "an integer beyond 64 bits"
    before = declines("aten::arange", why)
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        torch.arange(1 << 70)
    assert declines("aten::arange", why) == before + 1


def test_a_composite_runs_natively_only_without_history():
    x = torch.rand(4, 3)
    before = native_calls("aten::chunk")
    assert [tuple(t.shape) for t in x.chunk(2)] == [(2, 3), (2, 3)]
    assert native_calls("aten::chunk") == before + 1
    x.requires_grad_()
    parts = x.chunk(2)
    assert native_calls("aten::chunk") == before + 1 and parts[0].grad_fn is not None
    with torch.no_grad():
        x.chunk(2)
    assert native_calls("aten::chunk") == before + 2


@pytest.mark.parametrize("count", [1, 8, 9, 40])
def test_lists_of_tensors_are_lent(count):
    arrays = [np.full((2, 2), i, np.float32) for i in range(count)]
    tensors = [torch.from_numpy(a) for a in arrays]
    held = [sys.getrefcount(a) for a in arrays]
    joined = torch.cat(tensors)
    assert torch.equal(torch.stack(tensors).reshape(-1, 2), joined)
    assert joined[::2, 0].tolist() == list(range(count))
    assert [sys.getrefcount(a) for a in arrays] == held
    del tensors
    assert [sys.getrefcount(a) for a in arrays] == [n - 1 for n in held], "a tensor was kept"


def test_indices_of_many_dims_are_lent():
    x = torch.arange(2**10).reshape([2] * 10)
    index = torch.tensor([1, 0])
    for first in (0, 9):
        indices = [None] * first + [index]
        assert torch.equal(x[(*[slice(None)] * first, index)], torch.ops.aten.index.Tensor(x, indices))


def test_views_let_go_of_the_memory():
    array = np.zeros((4, 4), np.float32)
    base = torch.from_numpy(array)
    held = sys.getrefcount(array)
    views = [*base.split(2), *base.unbind(), base.narrow(0, 1, 2), base.reshape(16), base.flatten()]
    assert all(v._base is base for v in views)
    del base, views
    assert sys.getrefcount(array) == held - 1
