"""CSR, CSC, BSR and BSC tensors. Values are PyTorch 2.13's."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import shim_torch as torch

LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def dense():
    return torch.tensor([[0.0, 0.0, 3.0, 0.0], [4.0, 0.0, 5.0, 6.0]])


def made(layout, values=None):
    values = dense() if values is None else values
    return values.to_sparse(layout=layout, blocksize=(1, 2) if "b" in str(layout)[-3:] else None)


def test_parts():
    s = dense().to_sparse_csr()
    assert s.layout is torch.sparse_csr and s.is_sparse_csr and not s.is_sparse
    assert s.crow_indices().tolist() == [0, 1, 4] and s.col_indices().tolist() == [2, 0, 2, 3]
    assert s.values().tolist() == [3.0, 4.0, 5.0, 6.0] and s._nnz() == 4
    columns = dense().to_sparse_csc()
    assert columns.ccol_indices().tolist() == [0, 1, 1, 3, 4] and columns.row_indices().tolist() == [1, 0, 1, 1]
    blocks = dense().to_sparse_bsr((1, 2))
    assert blocks.values().tolist() == [[[3.0, 0.0]], [[4.0, 0.0]], [[5.0, 6.0]]]
    assert blocks.crow_indices().tolist() == [0, 1, 3] and blocks.col_indices().tolist() == [1, 0, 1]
    with pytest.raises(
        RuntimeError, match="ccol_indices expected sparse column compressed tensor layout but got SparseCsr"
    ):
        s.ccol_indices()
    with pytest.raises(RuntimeError, match="is_coalesced expected sparse coordinate tensor layout but got SparseCsr"):
        s.is_coalesced()


def test_printing():
    assert repr(torch.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]).to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,\n       layout=torch.sparse_csr)"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", [torch.sparse_coo, *LAYOUTS])
def test_conversions(layout, other):
    s = made(layout)
    assert s.to_dense().tolist() == dense().tolist()
    if layout in LAYOUTS[2:] and other in LAYOUTS[:2]:
        with pytest.raises(RuntimeError, match="expected SparseCsr or SparseCsc layout but got"):
            s.to_sparse(layout=other)
        return
    t = s.to_sparse(layout=other, blocksize=(1, 2) if "b" in str(other)[-3:] else None)
    assert t.layout is other and t.to_dense().tolist() == dense().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_and_dense_dims(layout):
    d = torch.stack([dense(), dense().flip(1)])
    assert made(layout, d).to_dense().tolist() == d.tolist()
    assert made(layout, d)[1].to_dense().tolist() == d[1].tolist()
    hybrid = dense().unsqueeze(2).expand(2, 4, 3)
    s = hybrid.to_sparse(layout=layout, blocksize=(1, 2) if "b" in str(layout)[-3:] else None, dense_dim=1)
    assert s.dense_dim() == 1 and s.to_dense().tolist() == hybrid.tolist()


def test_construction():
    s = torch.sparse_csr_tensor(torch.tensor([0, 2, 4]), torch.tensor([0, 1, 0, 1]), torch.tensor([1, 2, 3, 4]))
    assert s.shape == (2, 2) and s.to_dense().tolist() == [[1, 2], [3, 4]]
    s = torch.sparse_csr_tensor([0, 1, 1], [2], [1.5], (2, 5), dtype=torch.float64)
    assert s.shape == (2, 5) and s.dtype == torch.float64
    s = torch.sparse_compressed_tensor([0, 1], [0], [2.0], layout=torch.sparse_csc)
    assert s.layout is torch.sparse_csc and s.to_dense().tolist() == [[2.0]]
    blocks = torch.sparse_bsr_tensor([0, 1], [1], torch.ones(1, 2, 2))
    assert blocks.shape == (2, 4)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (([1, 2, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)), r"`crow_indices[..., 0] == 0` is not satisfied."),
        (([0, 2, 5], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)), r"`crow_indices[..., -1] == nnz` is not satisfied."),
        (([0, 2, 4], [0, 1, 0, 3], [1, 2, 3, 4], (2, 3)), r"`0 <= col_indices < ncols` is not satisfied."),
        (([0, 2, 4], [1, 0, 0, 2], [1, 2, 3, 4], (2, 3)), "are sorted and distinct along the last dimension values"),
        (
            ([0, 2, 3, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2, 3)),
            "crow_indices.shape[-1] must be equal to the number of rows + 1 (=3)",
        ),
        (
            ([0, 2, 4], [0, 1, 0, 1, 2], [1, 2, 3, 4], (2, 3)),
            "must be equal to nnz (=4) as defined by values.shape[0], but got 5",
        ),
        (
            ([0, 2, 4], [0, 1, 0, 2], [1, 2, 3, 4], (2,)),
            "sum of batch, base, and dense dimensionalities (=0 + 2 + 0) but got 1",
        ),
    ],
)
def test_invariants(args, text):
    with pytest.raises(RuntimeError) as error:
        torch.sparse_csr_tensor(*args, check_invariants=True)
    assert text in str(error.value)
    with pytest.raises(RuntimeError):
        torch._validate_sparse_csr_tensor_args(*(torch.tensor(a) for a in args[:3]), args[3])


def test_conversion_errors():
    with pytest.raises(RuntimeError, match=r"tensor sparse size \(2,4\) must be divisible by given blocksize \(2,3\)"):
        dense().to_sparse_bsr((2, 3))
    with pytest.raises(RuntimeError, match="without blocksize argument given is not supported"):
        dense().to_sparse(layout=torch.sparse_bsr)
    with pytest.raises(RuntimeError, match="Expect the same number of specified elements per batch."):
        torch.stack([dense(), torch.zeros(2, 4)]).to_sparse_csr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies(layout):
    s = made(layout)
    for copied in (copy.deepcopy(s), s.clone(), pickle.loads(pickle.dumps(s)), s.detach()):
        assert copied.layout is layout and copied.to_dense().tolist() == dense().tolist()
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    assert torch.load(file).to_dense().tolist() == dense().tolist()
    assert s.double().dtype == torch.float64 and torch.zeros_like(s)._nnz() == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arithmetic(layout):
    s, d = made(layout), dense()
    assert (s * 2).to_dense().tolist() == (d * 2).tolist()
    assert s.neg().to_dense().tolist() == (-d).tolist() and s.sin().layout is layout
    assert (s + s).to_dense().tolist() == (d + d).tolist()
    assert s.t().to_dense().tolist() == d.t().tolist()
    if layout is torch.sparse_bsc:
        with pytest.raises(RuntimeError, match="not implemented for Strided . SparseBsc @ Strided"):
            s @ d.t()
    else:
        assert (s @ d.t()).tolist() == (d @ d.t()).tolist()
    assert s.sum().item() == 18.0
    assert (s * d).to_dense().tolist() == (d * d).tolist()


def test_matrices_of_rows():
    s, d = dense().to_sparse_csr(), dense()
    assert s.t().layout is torch.sparse_csc
    product = s @ d.t().to_sparse_csr()
    assert product.layout is torch.sparse_csr and product.to_dense().tolist() == (d @ d.t()).tolist()
    assert s.mv(torch.ones(4)).tolist() == [3.0, 15.0]
    assert (d + s).tolist() == (d + d).tolist()
    assert s.sum(0, keepdim=True).to_dense().tolist() == [[4.0, 0.0, 8.0, 6.0]]
    assert s.resize_(3, 4).shape == (3, 4) and s.crow_indices().tolist() == [0, 1, 4, 4]
    other = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]])
    assert (d.to_sparse_csr() + other.to_sparse_csr()).to_dense().tolist() == (d + other).tolist()
    assert (d.to_sparse_csr() * other.to_sparse_csr()).to_dense().tolist() == (d * other).tolist()
    picked = torch.sparse.sampled_addmm(d.to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 4), beta=2.0, alpha=0.5)
    assert picked.values().tolist() == [7.5, 9.5, 11.5, 13.5]


def test_what_is_refused():
    s = dense().to_sparse_csr()
    for call, text in (
        (lambda: s.cos(), "unsupported tensor layout: SparseCsr"),
        (lambda: s == s, "unsupported tensor layout: SparseCsr"),
        (lambda: s.stride(), "Sparse CSR tensors do not have strides"),
        (lambda: s.is_contiguous(), "Sparse CSR tensors do not have is_contiguous"),
        (lambda: s.sum(0), "reduction operations on CSR tensors with keepdim=False is unsupported"),
        (lambda: s.untyped_storage(), "Cannot access storage of SparseCsrTensorImpl"),
        (lambda: s.view(8), "Could not run 'aten::view' with arguments from the 'SparseCsrCPU' backend"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_gradients():
    s = dense().to_sparse_csr().requires_grad_()
    (s.to_dense() * torch.arange(8.0).reshape(2, 4)).sum().backward()
    assert s.grad.layout is torch.sparse_csr and s.grad.values().tolist() == [2.0, 4.0, 6.0, 7.0]
    d = dense().requires_grad_()
    (d.to_sparse_csr().values() * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert d.grad.tolist() == [[0.0, 0.0, 1.0, 0.0], [2.0, 0.0, 3.0, 4.0]]
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    torch.sparse_csr_tensor([0, 1, 2], [1, 0], v, (2, 2)).to_dense().sum().backward()
    assert v.grad.tolist() == [1.0, 1.0]


def test_spdiags():
    s = torch.sparse.spdiags(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([0, 1]), (3, 3))
    assert s.to_dense().tolist() == [[1.0, 5.0, 0.0], [0.0, 2.0, 6.0], [0.0, 0.0, 3.0]]
    assert (
        torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([-1]), (3, 3), torch.sparse_csr).layout is torch.sparse_csr
    )


@pytest.mark.parametrize(
    ("crow", "columns"),
    [([0, 5, 2], [0, 1]), ([0, 1, 2], [9, 1]), ([0, -1, 2], [0, 1]), ([0, 1], [0, 1]), ([0, 1, 2], [-7, 1])],
)
def test_indices_that_were_not_checked_never_leave_the_memory(crow, columns):
    s = torch.sparse_csr_tensor(crow, columns, [1.0, 2.0], (2, 3), check_invariants=False)
    for call in (lambda: s.to_dense(), lambda: s @ torch.ones(3, 2), lambda: s.to_sparse_csc()):
        with pytest.raises((IndexError, RuntimeError)):
            call()
