"""Gradients of and through sparse tensors. Values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch

INDICES = [[0, 1, 1], [2, 0, 2]]


def test_values_get_the_gradient_of_the_tensor():
    v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    s = torch.sparse_coo_tensor(torch.tensor(INDICES), v, (2, 3))
    assert s.requires_grad and s.grad_fn.name() == "SparseCooTensorWithDimsAndTensorsBackward0"
    (s.to_dense() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert v.grad.tolist() == [2.0, 3.0, 5.0]


def test_the_gradient_of_a_sparse_leaf_is_sparse():
    s = torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([3.0, 4.0, 5.0]), (2, 3), requires_grad=True)
    (s.to_dense() * 2).sum().backward()
    assert s.grad.layout is torch.sparse_coo and s.grad.to_dense().tolist() == [[0.0, 0.0, 2.0], [2.0, 0.0, 2.0]]
    s.coalesce().values().sum().backward()
    assert s.grad.to_dense().tolist() == [[0.0, 0.0, 3.0], [3.0, 0.0, 3.0]]


def test_dense_to_sparse():
    d = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (d.to_sparse() * 3).to_dense().sum().backward()
    assert d.grad.layout is torch.strided and d.grad.tolist() == [[0.0, 3.0], [3.0, 0.0]]


def test_matrix_products():
    s = torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([3.0, 4.0, 5.0]), (2, 3), requires_grad=True)
    d = torch.arange(6.0).reshape(3, 2).requires_grad_()
    torch.sparse.mm(s, d).sum().backward()
    assert s.grad.layout is torch.sparse_coo and s.grad.to_dense().tolist() == [[0.0, 0.0, 9.0], [1.0, 0.0, 9.0]]
    assert d.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [8.0, 8.0]]


def test_sums():
    s = (
        torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([3.0, 4.0, 5.0]), (2, 3))
        .coalesce()
        .requires_grad_()
    )
    torch.sparse.sum(s).backward()
    assert s.grad.to_dense().tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    s.grad = None
    (torch.sparse.sum(s, 0).to_dense() * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert s.grad.to_dense().tolist() == [[0.0, 0.0, 3.0], [1.0, 0.0, 3.0]]


def test_softmax():
    s = (
        torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([1.5, 2.0, 2.5]), (2, 3))
        .coalesce()
        .requires_grad_()
    )
    (torch.sparse.softmax(s, 1).to_dense() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert s.grad._values().tolist() == pytest.approx([0.0, -0.47000742, 0.47000742])


def test_sums_of_both_kinds():
    v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    d = torch.ones(2, 3, requires_grad=True)
    s = torch.sparse_coo_tensor(torch.tensor(INDICES), v, (2, 3))
    ((d + s) * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert v.grad.tolist() == [2.0, 3.0, 5.0] and d.grad.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_gradients_of_both_kinds_add_up():
    w = torch.ones(2, 3, requires_grad=True)
    sparse = torch.sparse_coo_tensor(torch.tensor(INDICES), torch.ones(3), (2, 3))
    w.grad = sparse.clone()
    w.sum().backward()
    assert w.grad.layout is torch.strided and w.grad.tolist() == [[1.0, 1.0, 2.0], [2.0, 1.0, 2.0]]
    w.grad = torch.ones(2, 3)
    w.grad.add_(sparse)
    assert w.grad.tolist() == [[1.0, 1.0, 2.0], [2.0, 1.0, 2.0]]


def leaf():
    return torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().requires_grad_()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: torch.stack([x, x]), [[0.0, 2.0], [2.0, 0.0]]),
        (lambda x: x.t() * 3, [[0.0, 3.0], [3.0, 0.0]]),
        (lambda x: x * x, [[0.0, 4.0], [6.0, 0.0]]),
        (lambda x: x.relu(), [[0.0, 1.0], [1.0, 0.0]]),
        (lambda x: x.double().float(), [[0.0, 1.0], [1.0, 0.0]]),
        (lambda x: torch.sparse.mm(x, torch.ones(2, 2).to_sparse()), [[0.0, 2.0], [2.0, 0.0]]),
        (lambda x: torch.sparse.addmm(torch.ones(2, 2), x, torch.ones(2, 2), alpha=3.0), [[0.0, 6.0], [6.0, 0.0]]),
        (lambda x: x.sum(), [[1.0, 1.0], [1.0, 1.0]]),
        (lambda x: x.sum(0).to_dense(), [[0.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_functions(function, expected):
    x = leaf()
    y = function(x)
    (y.to_dense() if y.layout != torch.strided else y).sum().backward()
    grad = x.grad.to_dense() if x.grad.layout != torch.strided else x.grad
    assert grad.tolist() == expected


def test_masks_and_sampled_products():
    d = torch.arange(4.0).reshape(2, 2).requires_grad_()
    d.sparse_mask(leaf().detach()).to_dense().sum().backward()
    assert d.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    pattern = torch.eye(2).to_sparse_csr().requires_grad_()
    a = torch.ones(2, 3, requires_grad=True)
    torch.sparse.sampled_addmm(pattern, a, torch.full((3, 2), 2.0), beta=5.0).to_dense().sum().backward()
    assert a.grad.tolist() == [[2.0] * 3] * 2
    assert pattern.grad.to_dense().tolist() == [[5.0, 0.0], [0.0, 5.0]]


def test_sums_of_compressed_matrices():
    s = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().requires_grad_()
    s.sum().backward()
    assert s.grad.layout is torch.strided and s.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("masked", [True, False])
def test_gradcheck(masked):
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=torch.float64).to_sparse().requires_grad_()
    w = torch.arange(4.0, dtype=torch.float64).reshape(2, 2)
    assert torch.autograd.gradcheck(lambda t: (t * w).to_dense(masked_grad=masked), (x,), masked=masked)
    assert torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)(lambda t: t * 2, (x,), masked=masked)


def test_sums_of_repeated_entries():
    x = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0]), (2, 2), requires_grad=True)
    torch.sparse.sum(x, 0).to_dense().sum().backward()
    assert x.grad.to_dense().tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_complex_factors_of_a_sampled_product_are_conjugated():
    s = torch.eye(2, dtype=torch.complex64).to_sparse_csr().requires_grad_()
    a = torch.tensor([[1.0, 2j], [3.0, 1j]], requires_grad=True)
    b = torch.tensor([[1j, 2.0], [1.0, 1.0]], requires_grad=True)
    torch.sparse.sampled_addmm(s, a, b, beta=2j, alpha=1 + 1j).to_dense().sum().backward(
        torch.ones((), dtype=torch.complex64)
    )
    assert s.grad.values().tolist() == [-2j, -2j]
    assert a.grad.tolist() == [[-1 - 1j, 1 - 1j], [2 - 2j, 1 - 1j]]
    assert b.grad.tolist() == [[1 - 1j, 3 - 3j], [-2 - 2j, -1 - 1j]]
