"""Between dense and sparse tensors: there and back, masks, gradients."""

from __future__ import annotations

import pytest

import shim_torch as torch

DENSE = [[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]


@pytest.mark.parametrize("name", ["to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
def test_there_and_back(name):
    x = torch.tensor(DENSE)
    there = getattr(x, name)()
    assert there.layout is not torch.strided and there.to_dense().tolist() == DENSE


def test_blocks_and_layouts():
    x = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 5.0], [6.0, 0.0]])
    there = x.to_sparse_bsr((2, 2))
    assert there.values().tolist() == [[[1, 0], [0, 0]], [[0, 5], [6, 0]]] and there.to_dense().tolist() == x.tolist()
    assert x.to_sparse(layout=torch.sparse_csr).layout is torch.sparse_csr
    assert x.to_sparse(1).indices().tolist() == [[0, 2, 3]]


def test_masks():
    mask = torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]).to_sparse()
    assert torch.tensor(DENSE).sparse_mask(mask).to_dense().tolist() == [[0, 2, 0], [0, 0, 4]]


def test_gradients():
    x = torch.tensor(DENSE, requires_grad=True)
    (x.to_sparse().to_dense() * torch.arange(6.0).view(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [3, 0, 5]]
