"""Bags of embeddings by the kernel of the CPU, against the body of its record and a gradient by differences."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.shim import embedding_bags as records
from shim_torch.nn import functional as F

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize(("closed", "padding"), [(False, -1), (True, -1), (True, 3), (False, 3)])
def test_as_the_body(mode, closed, padding, dtype):
    for width in (1, 7, 8, 33):
        table = torch.from_numpy(rng.standard_normal((9, width))).to(dtype)
        index = torch.from_numpy(rng.integers(0, 9, 40))
        offsets = torch.tensor([0, 5, 5, 17, 39, 40])
        samples = torch.from_numpy(rng.standard_normal(40)).to(dtype) if mode == 0 else None
        found = torch.ops.shim.embedding_bags(table, index.int(), offsets.int(), samples, mode, closed, padding)
        arrays = table.numpy(), index.numpy(), offsets.numpy(), None if samples is None else samples.numpy()
        for a, b in zip(found, records.embedding_bags(np, *arrays, mode, closed, padding), strict=True):
            torch.testing.assert_close(a, torch.from_numpy(np.asarray(b)))


def test_gradients_and_refusals():
    table = torch.from_numpy(rng.standard_normal((5, 3))).requires_grad_()
    index, offsets = torch.tensor([0, 4, 1, 1, 3]), torch.tensor([0, 2])
    samples = torch.from_numpy(rng.standard_normal(5)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda w, s: F.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=s), (table, samples)
    )
    for mode in ("mean", "max"):
        assert torch.autograd.gradcheck(
            lambda w, m=mode: F.embedding_bag(index, w, offsets, mode=m, padding_idx=1), (table,)
        )
    with pytest.raises(RuntimeError, match="Index 1 of input takes value 5 which is not in the valid range"):
        F.embedding_bag(torch.tensor([0, 5]), table, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="offsets\\[0\\] has to be 0"):
        F.embedding_bag(index, table, torch.tensor([1, 2]))
    narrow = F.embedding_bag(index, table.detach().bfloat16(), offsets, mode="mean")
    torch.testing.assert_close(
        narrow, F.embedding_bag(index, table.detach(), offsets, mode="mean").bfloat16(), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_compressed_rows_times_a_dense_matrix(index, dtype):
    dense = torch.from_numpy(rng.standard_normal((7, 9))).to(dtype)
    a = torch.from_numpy(rng.standard_normal((5, 7)) * (rng.random((5, 7)) < 0.4)).to(dtype)
    a[2] = 0
    s = a.to_sparse_csr()
    s = torch.sparse_csr_tensor(s.crow_indices().to(index), s.col_indices().to(index), s.values(), a.shape)
    torch.testing.assert_close(s @ dense, a @ dense)
    torch.testing.assert_close(s @ dense.t().contiguous().t(), a @ dense)
    torch.testing.assert_close(s @ dense[:, 0], a @ dense[:, 0])
    wanted = dense.clone().requires_grad_()
    (s @ wanted).sum().backward()
    torch.testing.assert_close(wanted.grad, a.sum(0)[:, None].expand(7, 9))


def test_distances_of_pairs():
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf")):
        x = torch.from_numpy(rng.standard_normal((30, 4)))
        with_history = F.pdist(x.clone().requires_grad_(), p)  # by way of differences
        torch.testing.assert_close(F.pdist(x, p), with_history.detach())
        torch.testing.assert_close(F.pdist(x.float(), p), with_history.detach().float())
    assert F.pdist(torch.ones(1, 3)).shape == (0,)
