"""Tensors split into pieces: views of one memory, or copies, with their gradients."""

import pytest

import shim_torch as torch

from ..checked_calls import natively


def test_pieces_are_views() -> None:
    x = torch.arange(20).reshape(5, 4)
    parts = natively(lambda: (x.split(2), x.chunk(3, 1), x.unbind(1), x.split([1, 4]), (x.narrow(0, 1, 2),)))
    shapes = [[tuple(p.shape) for p in group] for group in parts]
    assert shapes[:2] == [[(2, 4), (2, 4), (1, 4)], [(5, 2), (5, 2)]]
    assert shapes[2:] == [[(5,)] * 4, [(1, 4), (4, 4)], [(2, 4)]]
    for group in parts:
        for p in group:
            assert p._base is x._base and p._version == x._version
            assert p.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    parts[0][1].fill_(-1)
    assert x[2:4].tolist() == [[-1] * 4] * 2
    leaf = torch.ones(4, requires_grad=True)
    leaf.split(2)[1].sum().backward()
    assert leaf.grad.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("split", [lambda t: t.unsafe_split(1), lambda t: t.unsafe_chunk(3)])
def test_parts_that_are_no_views_count_their_own_writes(split):
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    first, second, _ = split(x + x)
    first.mul_(second)
    first.sum().backward()
    assert x.grad.tolist() == [[12, 16, 20], [0, 4, 8], [0, 0, 0]]
