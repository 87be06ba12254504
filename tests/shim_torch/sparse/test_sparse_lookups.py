"""Sparse gradients of lookups, and the optimizers that take them. Values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

ROWS = torch.tensor([[1, 3], [1, 0]])


def table():
    return torch.arange(12.0).reshape(4, 3).requires_grad_()


def test_embedding():
    w = table()
    F.embedding(ROWS, w, sparse=True).mul(torch.arange(12.0).reshape(2, 2, 3)).sum().backward()
    assert w.grad.is_sparse and w.grad._indices().tolist() == [[1, 3, 1, 0]]
    assert w.grad._values().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]
    dense = table()
    F.embedding(ROWS, dense).mul(torch.arange(12.0).reshape(2, 2, 3)).sum().backward()
    assert w.grad.to_dense().tolist() == dense.grad.tolist()


def test_padding_gets_no_entry():
    layer = torch.nn.Embedding(4, 3, padding_idx=1, sparse=True)
    layer(ROWS).sum().backward()
    assert layer.weight.grad._indices().tolist() == [[3, 0]]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        F.embedding(ROWS, table(), scale_grad_by_freq=True, sparse=True).sum().backward()


def test_gradients_accumulate():
    w = table()
    for _ in range(2):
        F.embedding(torch.tensor([1, 3]), w, sparse=True).sum().backward()
    assert w.grad._nnz() == 4 and w.grad.to_dense()[:, 0].tolist() == [0.0, 2.0, 0.0, 2.0]
    w.grad = None
    (F.embedding(torch.tensor([1, 3]), w, sparse=True).sum() + w.sum()).backward()
    assert w.grad.layout is torch.strided and w.grad[:, 0].tolist() == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize(("mode", "value"), [("sum", 3.0), ("mean", 1.5)])
def test_embedding_bag(mode, value):
    w = table()
    out = F.embedding_bag(torch.tensor([1, 3, 1, 0]), w, torch.tensor([0, 2]), mode=mode, sparse=True)
    out.mul(torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert w.grad.is_sparse and w.grad._indices().tolist() == [[1, 3, 1, 0]]
    assert w.grad._values()[2].tolist()[0] == value


def test_gather():
    w = table()
    torch.gather(w, 1, torch.tensor([[1], [0]]), sparse_grad=True).sum().backward()
    assert w.grad._indices().tolist() == [[0, 1], [1, 0]] and w.grad._values().tolist() == [1.0, 1.0]


def trained(make, steps=3):
    w = torch.arange(12.0).reshape(4, 3).div(7).requires_grad_()
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        F.embedding(torch.tensor([1, 3, 1]), w, sparse=True).pow(2).sum().backward()
        optimizer.step()
    return w.detach(), optimizer.state[w]


O = torch.optim


@pytest.mark.parametrize(
    ("make", "row"),
    [
        (lambda p: O.SGD(p, lr=0.1), [0.0926, 0.1234, 0.1543]),
        (lambda p: O.SGD(p, lr=0.1, momentum=0.9), [-0.2314, -0.3086, -0.3857]),
        (lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True), [-0.1857, -0.2476, -0.3095]),
        (lambda p: O.SGD(p, lr=0.1, maximize=True), [1.1760, 1.5680, 1.9600]),
        (lambda p: O.Adagrad(p, lr=0.1), [0.2233, 0.3596, 0.4987]),
        (lambda p: O.Adagrad(p, lr=0.1, lr_decay=0.1, eps=1e-3), [0.2357, 0.3730, 0.5128]),
        (lambda p: O.SparseAdam(p, lr=0.1), [0.1350, 0.2753, 0.4169]),
        (lambda p: O.SparseAdam(p, lr=0.1, maximize=True), [0.7287, 0.8718, 1.0148]),
    ],
)
def test_optimizers(make, row):
    w, _ = trained(make)
    assert w[1].tolist() == pytest.approx(row, abs=1e-4)
    assert w[0].tolist() == pytest.approx([0.0, 1 / 7, 2 / 7])  # never looked up: untouched


def test_state_of_sparse_adam():
    _, state = trained(lambda p: O.SparseAdam(p, lr=0.1))
    assert state["step"] == 3 and state["exp_avg"][1].tolist() == pytest.approx([0.3492, 0.5038, 0.6586], abs=1e-4)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"]
)
def test_the_others_refuse_sparse_gradients(name):
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        trained(getattr(O, name))


def test_what_is_refused():
    w = torch.ones(3, requires_grad=True)
    w.sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        O.SparseAdam([w]).step()
    with pytest.raises(ValueError, match="Sparse params at indices"):
        O.SparseAdam([torch.zeros(3, layout=torch.sparse_coo)])
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        trained(lambda p: O.Adagrad(p, weight_decay=0.1))
