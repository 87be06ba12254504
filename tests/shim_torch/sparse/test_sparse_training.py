"""Sparse tensors in modules, scalers, checkpoints and data loaders. Values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


class Graph(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("edges", torch.eye(3).to_sparse())
        self.weight = torch.nn.Parameter(torch.ones(3, 2))

    def forward(self):
        return torch.sparse.mm(self.edges, self.weight)


def test_sparse_buffers():
    one, two = Graph().double(), Graph()
    assert one.edges.dtype == torch.float64
    two.load_state_dict(one.state_dict())
    two().sum().backward()
    assert two.edges.is_sparse and two.weight.grad.tolist() == [[1.0, 1.0]] * 3


def test_sparse_parameters():
    p = torch.nn.Parameter(torch.eye(3).to_sparse_csr())
    assert isinstance(p, torch.nn.Parameter) and p.layout is torch.sparse_csr
    torch.sparse.mm(p, torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert p.grad.layout is torch.sparse_csr and p.grad.values().tolist() == [1.0, 5.0, 9.0]


def test_scaler_unscales_sparse_gradients():
    w = torch.arange(12.0).reshape(4, 3).requires_grad_()
    optimizer, scaler = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(F.embedding(torch.tensor([1, 3]), w, sparse=True).sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad._values().tolist() == [[1.0] * 3] * 2
    scaler.step(optimizer)
    assert w[1].tolist() == [2.0, 3.0, 4.0]


def test_zero_grad_keeps_the_layout():
    w = torch.ones(4, 3, requires_grad=True)
    F.embedding(torch.tensor([1, 3]), w, sparse=True).sum().backward()
    torch.optim.SGD([w]).zero_grad(set_to_none=False)
    assert w.grad.is_sparse and w.grad._nnz() == 0


def test_in_place_steps_are_recorded():
    s = torch.eye(2).to_sparse().requires_grad_()
    d = torch.ones(2, 2, requires_grad=True)
    y = s * 1
    y.mul_(3)
    e = d * 1
    e.add_(y)
    e.sum().backward()
    assert s.grad.tolist() == [[3.0, 3.0]] * 2 and d.grad.tolist() == [[1.0, 1.0]] * 2  # a dense one, as PyTorch's
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        s.mul_(2)


def test_second_derivatives():
    x = torch.eye(2).to_sparse().requires_grad_()
    (g,) = torch.autograd.grad((x * x).to_dense().sum(), x, create_graph=True)
    g.to_dense().sum().backward()
    assert x.grad.to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_batches_are_refused():
    with pytest.raises(RuntimeError, match="Batches of sparse tensors are not currently supported"):
        torch.utils.data.default_collate([torch.eye(2).to_sparse()] * 2)


def test_sizes_that_no_dense_tensor_has():
    s = torch.sparse_coo_tensor(torch.tensor([[10**9, 5], [7, 10**8]]), torch.ones(2), (2 * 10**9, 10**9))
    t = (s + s * 2).coalesce()
    assert t.indices().tolist() == [[5, 10**9], [10**8, 7]] and t.values().tolist() == [3.0, 3.0]
    assert torch.sparse.sum(s, 0).indices().tolist() == [[7, 10**8]]
