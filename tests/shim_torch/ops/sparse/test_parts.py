"""Coordinate tensors: construction, parts, conversions, printing, copies. Values are PyTorch 2.13's."""

from __future__ import annotations

import copy
import io
import math
import pickle

import numpy as np
import pytest

import shim_torch as torch

INDICES = [[0, 1, 1], [2, 0, 2]]


def sample(dtype=torch.float32, **options):
    return torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([3, 4, 5], dtype=dtype), (2, 3), **options)


def dense():
    return torch.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])


def test_a_sparse_tensor_is_a_tensor():
    s = sample()
    assert type(s) is torch.Tensor and s.layout is torch.sparse_coo
    assert s.is_sparse and not s.is_sparse_csr and not dense().is_sparse
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.is_coalesced()) == (2, 0, 3, False)
    assert (dense().sparse_dim(), dense().dense_dim()) == (0, 2)
    assert s.shape == (2, 3) and s.numel() == 6 and s.stride() == (0, 0) and not s.is_contiguous()
    assert s.type() == "torch.sparse.FloatTensor"


def test_printing():
    assert repr(sample()) == (
        "tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )
    assert repr(torch.sparse_coo_tensor((2, 3), dtype=torch.float64)) == (
        "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, dtype=torch.float64, layout=torch.sparse_coo)"
    )


def test_size_is_inferred():
    s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2])
    assert s.shape == (2, 2) and s.dtype == torch.int64
    hybrid = torch.sparse_coo_tensor(torch.tensor([[2, 0]]), torch.ones(2, 4))
    assert hybrid.shape == (3, 4) and hybrid.dense_dim() == 1


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: torch.sparse_coo_tensor(torch.tensor([0]), torch.ones(1)),
            "indices must be sparse_dim x nnz, but got: [1]",
        ),
        (
            lambda: torch.sparse_coo_tensor(torch.tensor(INDICES), torch.ones(3), (2,)),
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = 1, sparse_dim = 2, dense_dim = 0",
        ),
        (
            lambda: torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(1), (2,)),
            "indices and values must have same nnz, but got nnz from indices: 2, nnz from values: 1",
        ),
        (lambda: torch.sparse_coo_tensor(torch.tensor([[-1]]), torch.ones(1)), "found negative index -1 for dim 0"),
        (
            lambda: torch.sparse_coo_tensor(torch.tensor([[3]]), torch.ones(1), (2,), check_invariants=True),
            "size is inconsistent with indices: for dim 0, size is 2 but found index 3",
        ),
        (
            lambda: sample().indices(),
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first",
        ),
        (lambda: dense().indices(), "indices expected sparse coordinate tensor layout but got Strided"),
    ],
)
def test_errors(make, text):
    with pytest.raises(RuntimeError) as error:
        make()
    assert text in str(error.value)


def test_invariants_switch():
    wrong = (torch.tensor([[3]]), torch.ones(1), (2,))
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()
    torch.sparse_coo_tensor(*wrong)
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="size is inconsistent"):
        torch.sparse_coo_tensor(*wrong)
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_coalesce_sums_entries_of_one_place():
    s = torch.sparse_coo_tensor(torch.tensor([[1, 0, 1], [1, 2, 1]]), torch.tensor([1.0, 2.0, 3.0]), (2, 3)).coalesce()
    assert s.is_coalesced() and s.coalesce() is s
    assert s.indices().tolist() == [[0, 1], [2, 1]] and s.values().tolist() == [2.0, 4.0]
    flags = torch.sparse_coo_tensor(torch.tensor([[0, 0]]), torch.tensor([True, False]), (2,)).coalesce()
    assert flags.values().tolist() == [True]


def test_dense_and_back():
    assert sample().to_dense().tolist() == dense().tolist()
    s = dense().to_sparse()
    assert s.is_coalesced() and s.indices().tolist() == INDICES and s.values().tolist() == [3.0, 4.0, 5.0]
    rows = dense().to_sparse(1)
    assert rows.sparse_dim() == 1 and rows.values().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
    assert sample().to_dense(torch.float64).dtype == torch.float64
    scalar = torch.tensor(2.0).to_sparse()
    assert scalar.shape == () and scalar.to_dense().item() == 2.0
    with pytest.raises(RuntimeError, match="sparse_dim argument must be in"):
        dense().to_sparse(3)


def test_mask():
    picked = torch.arange(6.0).reshape(2, 3).sparse_mask(sample())
    assert picked._values().tolist() == [2.0, 3.0, 5.0]
    other = torch.sparse_coo_tensor(torch.tensor([[0, 1], [2, 1]]), torch.tensor([7.0, 8.0]), (2, 3))
    assert other.sparse_mask(sample().coalesce()).values().tolist() == [7.0, 0.0, 0.0]


def test_copies_casts_and_moves():
    s = sample()
    assert s.clone()._values().data_ptr() != s._values().data_ptr()
    assert s.detach()._values().data_ptr() == s._values().data_ptr()
    assert s.double().dtype == torch.float64 and s.to(torch.int64)._values().tolist() == [3, 4, 5]
    assert s.to("meta").shape == (2, 3) and s.to("meta").is_meta
    target = torch.sparse_coo_tensor((2, 3))
    assert target.copy_(s) is target and target.to_dense().tolist() == dense().tolist()
    with pytest.raises(RuntimeError, match="copy_.. between dense and sparse Tensors is not implemented"):
        s.copy_(dense())


@pytest.mark.parametrize("how", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_deepcopy_and_pickle(how):
    s = sample().coalesce()
    made = how(s)
    assert made.layout is torch.sparse_coo and made.is_coalesced()
    assert made.to_dense().tolist() == dense().tolist()
    assert made._values().data_ptr() != s._values().data_ptr()


def test_save_and_load():
    file = io.BytesIO()
    torch.save({"s": sample()}, file)
    file.seek(0)
    assert torch.load(file)["s"].to_dense().tolist() == dense().tolist()


def test_factories_with_a_layout():
    for made in (torch.zeros(2, 3, layout=torch.sparse_coo), torch.empty(2, 3, layout=torch.sparse_coo)):
        assert made.layout is torch.sparse_coo and made._nnz() == 0
    assert torch.zeros_like(sample()).layout is torch.sparse_coo
    assert torch.zeros_like(sample(), layout=torch.strided).tolist() == [[0.0] * 3] * 2
    assert torch.zeros_like(dense(), layout=torch.sparse_coo)._nnz() == 0
    assert sample().new_zeros(4).shape == (4,)
    with pytest.raises(RuntimeError, match="full.* is not implemented for sparse layout"):
        torch.ones(2, layout=torch.sparse_coo)


def test_resize():
    s = sample().sparse_resize_((4, 5), 2, 0)
    assert s.shape == (4, 5) and s._nnz() == 3
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        sample().sparse_resize_((1, 3), 2, 0)
    assert sample().sparse_resize_and_clear_((4, 5), 1, 1)._nnz() == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.view(3, 2), lambda s: s.cos(), lambda s: s == s, lambda s: s.max(), lambda s: s.sort(),
        lambda s: s[s.to_dense() > 0], lambda s: s.tril(), lambda s: s.fill_(1.0), lambda s: s.cumsum(0),
        lambda s: torch.equal(s, s), lambda s: s.squeeze(), lambda s: s.split(1), lambda s: torch.rand_like(s),
        lambda s: torch.where(s.to_dense() > 0, s, s), lambda s: s.gather(0, torch.zeros(1, 1, dtype=torch.int64)),
    ],
)  # fmt: skip
def test_dense_operators_are_refused(call):
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::.*' with arguments from the 'SparseCPU' backend"
    ):
        call(sample())


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda s: s.data_ptr(), RuntimeError),
        (lambda s: s.untyped_storage(), NotImplementedError),
        (lambda s: s.nbytes, RuntimeError),
        (lambda s: s.tolist(), RuntimeError),
        (lambda s: s.numpy(), TypeError),
        (lambda s: np.asarray(s), TypeError),
        (lambda s: s.__dlpack__(), BufferError),
        (lambda s: torch.utils.dlpack.to_dlpack(s), BufferError),
        (lambda s: s.__setitem__(0, 1.0), TypeError),
        (lambda s: s.item(), RuntimeError),
        (lambda s: s.reshape(6), RuntimeError),
        (lambda s: s.expand(4, 2, 3), RuntimeError),
        (lambda s: torch.ones(2, 3).copy_(s), RuntimeError),
        (lambda s: torch.ones(2, 3).set_(s), RuntimeError),
    ],
)
def test_memory_that_is_not_there_is_never_read(call, kind):
    with pytest.raises(kind):
        call(sample())


def test_operators_of_ours_refuse_them_as_pytorchs_do():
    dense = torch.ones(3)
    for pair in [(dense.to_sparse(), dense), (dense, dense.to_sparse())]:
        with pytest.raises(NotImplementedError, match="Could not run 'shim::vector_product' with arguments from the"):
            torch.ops.shim.vector_product(*pair, -1)


def test_empty_sparse_tensors_are_refused_too():
    with pytest.raises(NotImplementedError):
        torch.sparse_coo_tensor((0, 3)).cos()


@pytest.mark.parametrize("index", [5, -4, 10**12])
@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.to_dense(), lambda s: torch.ones(2, 3) + s, lambda s: s @ torch.ones(3, 2), lambda s: s * torch.ones(2, 3),
        lambda s: torch.ones(2, 2) @ s, lambda s: torch.ones(2, 3).sparse_mask(s), lambda s: s.coalesce().to_dense(),
    ],
)  # fmt: skip
def test_indices_that_were_not_checked_never_leave_the_memory(index, call):
    s = torch.sparse_coo_tensor(torch.tensor([[index, 0], [0, 1]]), torch.ones(2), (2, 3), check_invariants=False)
    with pytest.raises((IndexError, RuntimeError)):
        call(s)


@pytest.mark.parametrize("sparse, dense", [(3, 0), (1, 2), (1, 1)])
def test_t_is_of_two_sparse_dims(sparse, dense):
    x = torch.ones(*[2] * (sparse + dense)).to_sparse(sparse)
    with pytest.raises(
        RuntimeError, match=f"<= 2 sparse and 0 dense dimensions, but got {sparse} sparse and {dense} dense"
    ):
        x.t()
    assert torch.eye(2, 3).to_sparse().t().shape == (3, 2)


def test_entries_say_where_again_and_again():
    """Once there is a sparse tensor, factories name the CPU to handlers: not for what is made of tensors."""
    indices, values = torch.zeros(1, 2, dtype=torch.int64, device="meta"), torch.ones(2, device="meta")
    for dtype in (None, torch.float64, None):
        made = torch._sparse_coo_tensor_with_dims_and_tensors(1, 0, (3,), indices, values, dtype=dtype)
        assert made.device.type == "meta" and made.dtype is (dtype or torch.float32)


def test_a_sparse_result_is_not_written_into_a_dense_tensor():
    with pytest.raises(RuntimeError, match="Found self type = torch.LongTensor and src type = torch.sparse.LongTensor"):
        torch.ops.aten._to_sparse.sparse_dim_out(
            torch.ones(2, 3, dtype=torch.int64), 1, out=torch.zeros(2, 3, dtype=torch.int64)
        )


def test_sparse_masks_are_broadcast():
    data = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mask = torch.tensor([True, False, True])
    for name, whole, columns in (("sum", 14.0, [5.0, 0.0, 9.0]), ("prod", 72.0, [4.0, 0.0, 18.0])):
        reduce = getattr(torch.masked, name)
        assert reduce(data.to_sparse(), mask=mask.to_sparse()).to_dense().item() == whole
        assert reduce(data.to_sparse(), 0, mask=mask.to_sparse()).to_dense().tolist() == columns
    nothing = torch.zeros(2, 3, dtype=torch.bool).to_sparse()
    assert torch.masked.amax(data.to_sparse(), mask=nothing).to_dense().item() == -math.inf
