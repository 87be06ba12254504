"""Tensors like compressed ones, their indices' histories, and products at the entries of one pattern for a batch: PyTorch's results."""

from __future__ import annotations

import pytest

import shim_torch as torch

LAYOUTS = {"csr": torch.sparse_csr, "csc": torch.sparse_csc, "bsr": torch.sparse_bsr, "bsc": torch.sparse_bsc}


def _made(name: str, dense: torch.Tensor, dense_dim: int = 0) -> torch.Tensor:
    return dense.to_sparse(
        layout=LAYOUTS[name], blocksize=(2, 3) if name[0] == "b" else None, dense_dim=dense_dim or None
    )


def _parts(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
    return (t.crow_indices(), t.col_indices()) if rows else (t.ccol_indices(), t.row_indices())


@pytest.mark.parametrize("name", LAYOUTS)
def test_indices_have_no_history(name: str) -> None:
    t = _made(name, torch.ones(4, 6)).requires_grad_()
    assert all(not part.requires_grad and not part._is_view() for part in _parts(t))
    assert t.values().requires_grad
    coo = torch.ones(2, 2).to_sparse().requires_grad_().coalesce()
    assert not coo.indices().requires_grad and coo.values().requires_grad


@pytest.mark.parametrize("name", LAYOUTS)
def test_moves_to_meta_keep_no_entries(name: str) -> None:
    m = _made(name, torch.ones(2, 4, 6, 3), 1).to("meta")
    assert m.device.type == "meta" and m.dense_dim() == 1 and m.shape == (2, 4, 6, 3)
    assert _parts(m)[1].shape == (2, 0) and m.values().shape[:2] == (2, 0)


@pytest.mark.parametrize("to", ["csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_zeros_like_of_another_compressed_layout(name: str, to: str) -> None:
    t = _made(name, torch.ones(2, 4, 6, 3), 1)
    if (name[0] == "b") != (to[0] == "b"):
        with pytest.raises(
            RuntimeError, match="blocksize (cannot be specified for non-block layout|needs to be a tuple of size 2)"
        ):
            torch.zeros_like(t, layout=LAYOUTS[to])
        return
    z = torch.zeros_like(t, layout=LAYOUTS[to])
    count = {"csr": 4, "csc": 6, "bsr": 2, "bsc": 2}[to]
    assert z.layout is LAYOUTS[to] and z.dense_dim() == 1 and _parts(z)[0].tolist() == [[0] * (count + 1)] * 2


def test_coo_zeros_like_compressed_ones_have_batches_as_sparse_dims() -> None:
    z = torch.zeros_like(_made("csr", torch.ones(2, 4, 6, 3), 1), layout=torch.sparse_coo)
    assert (z.sparse_dim(), z.dense_dim(), z._nnz()) == (3, 1, 0)


def test_other_layouts_of_empty_like_are_refused() -> None:
    t = _made("csr", torch.ones(4, 6))
    for fn in (torch.empty_like, torch.ones_like):
        with pytest.raises(
            RuntimeError,
            match=r"empty_like with different sparse layout .*self is SparseCsr but you requested SparseCsc",
        ):
            fn(t, layout=torch.sparse_csc)
    assert torch.ones_like(t, device="meta").values().shape == (24,)


def test_sizes_and_counts_make_a_compressed_tensor() -> None:
    make = torch.ops.aten._sparse_compressed_tensor_with_dims
    t = make(2, 1, (5, 4, 6, 3), (2, 3), torch.int32, dtype=torch.float64, layout=torch.sparse_bsr)
    assert (t.crow_indices().shape, t.crow_indices().dtype) == ((5, 3), torch.int32)
    assert t.values().shape == (5, 2, 2, 3, 3) and t.dtype is torch.float64
    with pytest.raises(RuntimeError, match=r"dimension 1 must be multiple of blocksize\[1\]\(=4\) but got 6"):
        make(1, 0, (4, 6), (3, 4), torch.int32, layout=torch.sparse_bsc)
    with pytest.raises(RuntimeError, match="indices dtype must be Int or Long, but got Short"):
        make(1, 0, (4, 6), (), torch.int16, layout=torch.sparse_csr)


def test_indices_are_validated() -> None:
    check, t = torch._validate_compressed_sparse_indices, torch.tensor
    check(True, t([0, 0]), torch.tensor([], dtype=torch.int64), 1, 1, 0)
    with pytest.raises(RuntimeError, match="`0 <= row_indices < nrows` is not satisfied"):
        check(False, t([0, 1]), t([1]), 1, 1, 1)
    with pytest.raises(RuntimeError, match="Found dtype Long but expected Int"):
        check(True, t([0, 1]), t([0]).int(), 1, 1, 1)


def test_no_batches_are_refused() -> None:
    with pytest.raises(RuntimeError, match="to_sparse_csc: Expected product of batch dimensions to be non-zero."):
        torch.ones(2, 0, 4, 6).to_sparse_csc()


def test_a_pattern_serves_a_batch_of_sampled_products() -> None:
    c = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr()
    a, b = torch.arange(24.0).reshape(3, 2, 4), torch.arange(36.0).reshape(3, 4, 3)
    found = torch.sparse.sampled_addmm(c, a, b, alpha=0.5, beta=2.0)
    dense = c.to_dense()
    torch.testing.assert_close(found.to_dense(), 0.5 * (a @ b) * (dense != 0) + 2 * dense)
    assert found.crow_indices().tolist() == [[0, 2, 3]] * 3
    with pytest.raises(
        RuntimeError, match=r"Expected mat1 and mat2 to have the same batch size, but got \[3\] and \[\]"
    ):
        torch.sparse.sampled_addmm(c, a, b[0])
    with pytest.raises(RuntimeError, match="Expected mat1 and mat2 to have the same dtype, but got Double and Float"):
        torch.sparse.sampled_addmm(c, a.double(), b)


def test_templates_of_other_layouts_are_refused() -> None:
    t = _made("csr", torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="src  expected sparse compressed tensor layout but got Strided"):
        t.resize_as_sparse_(torch.ones(2, 3))
    with pytest.raises(
        RuntimeError, match=r"self and src must have the same layout, but got: self \(SparseCsr\) and source"
    ):
        t.resize_as_sparse_(_made("csc", torch.ones(2, 3)))


def test_a_transposed_tensor_without_entries_stays_coalesced() -> None:
    empty = torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (4, 3)).coalesce()
    assert empty.t().is_coalesced() and not torch.ones(2, 2).to_sparse().t().is_coalesced()


@pytest.mark.parametrize("name", LAYOUTS)
def test_sums_on_meta_keep_no_entries(name: str) -> None:
    m = _made(name, torch.ones(4, 6)).to("meta")
    assert torch.add(m, m).values().shape[0] == 0


def test_sparse_tensors_like_strided_ones() -> None:
    x = torch.ones(2, 4, 6)
    assert torch.zeros_like(x, layout=torch.sparse_csr).dense_dim() == 1
    assert torch.zeros_like(x, layout=torch.sparse_coo).sparse_dim() == 3
    with pytest.raises(RuntimeError, match="blocksize needs to be a tuple of size 2, but got 0"):
        torch.zeros_like(x, layout=torch.sparse_bsr)
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::empty_strided' with arguments from the 'SparseCPU' backend"
    ):
        torch.empty_like(x, layout=torch.sparse_coo)
