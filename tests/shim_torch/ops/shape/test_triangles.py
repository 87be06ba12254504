"""tril, triu, diag and its like: values, gradients, what is refused."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_triangles():
    x = torch.arange(1, 10).view(3, 3)
    assert x.tril().tolist() == [[1, 0, 0], [4, 5, 0], [7, 8, 9]] and x.triu(1).tolist() == [
        [0, 2, 3],
        [0, 0, 6],
        [0, 0, 0],
    ]
    assert x.tril(-1).tolist() == [[0, 0, 0], [4, 0, 0], [7, 8, 0]]
    assert x.clone().triu_().tolist() == x.triu().tolist()


def test_diagonals():
    v = torch.tensor([1, 2])
    assert torch.diag(v).tolist() == [[1, 0], [0, 2]] and torch.diag(v, 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert torch.diag(torch.tensor([[1, 2], [3, 4]])).tolist() == [1, 4]
    assert torch.diagflat(torch.tensor([[1], [2]])).tolist() == [[1, 0], [0, 2]]
    assert torch.diag_embed(torch.tensor([[1, 2], [3, 4]])).tolist() == [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    assert torch.diag_embed(v, dim1=1, dim2=0).tolist() == [[1, 0], [0, 2]]


def test_gradients():
    x = torch.ones(2, 2, requires_grad=True)
    (x.tril() * 3).sum().backward()
    assert x.grad.tolist() == [[3, 0], [3, 3]]
    v = torch.ones(2, requires_grad=True)
    (torch.diag_embed(v) * torch.tensor([[5.0, 6.0], [7.0, 8.0]])).sum().backward()
    assert v.grad.tolist() == [5, 8]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="diag\\(\\): Supports 1D or 2D tensors. Got 3D"):
        torch.diag(torch.ones(1, 1, 1))
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        torch.ones(2).tril()
