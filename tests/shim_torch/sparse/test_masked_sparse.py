"""Masked reductions of sparse tensors. Values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch


def tensors():
    d = torch.tensor([[0.0, 0.0, 3.0, 0.0], [4.0, 0.0, 5.0, 6.0]])
    mask = torch.tensor([[True, False, True, False], [True, True, False, False]])
    return d, mask


@pytest.mark.parametrize(
    ("name", "values"),
    [("sum", [4.0, 0.0, 3.0]), ("prod", [0.0, 0.0, 3.0]), ("amax", [4.0, 0.0, 3.0]), ("amin", [0.0, 0.0, 3.0])],
)
def test_reductions_over_the_mask(name, values):
    d, mask = tensors()
    function = getattr(torch.masked, name)
    made = function(d.to_sparse(), 0, mask=mask)
    assert (
        made.layout is torch.sparse_coo and made.indices().tolist() == [[0, 1, 2]] and made.values().tolist() == values
    )
    rows = function(d.to_sparse_csr(), 0, keepdim=True, mask=mask.to_sparse_csr())
    assert rows.layout is torch.sparse_csr and rows.values().tolist() == values and rows.shape == (1, 4)


def test_sums_of_all_entries():
    d, _ = tensors()
    assert torch.masked.sum(d.to_sparse()).to_dense().item() == 18.0
    assert torch.masked.sum(d.to_sparse(), ()).shape == ()
    assert torch.masked.sum(d.to_sparse(), 1, keepdim=True).to_dense().tolist() == [[3.0], [15.0]]


def test_means_of_rows():
    d, mask = tensors()
    made = torch.masked.mean(d.to_sparse_csr(), 1, keepdim=True, mask=mask)
    assert made.to_dense().tolist() == [[1.5], [2.0]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: torch.masked.prod(s, 0), "masked prod expects explicit mask for sparse_coo tensor input"),
        (lambda s: torch.masked.softmax(s, 0), "masked softmax expects strided tensor .got torch.sparse_coo tensor."),
        (lambda s: torch.masked.var(s, 0), "masked std/var expects strided tensor"),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call(tensors()[0].to_sparse())


def test_low_rank_factors():
    a = torch.diag(torch.arange(1.0, 11.0)).to_sparse()
    assert torch.svd_lowrank(a, q=10)[1][0].item() == pytest.approx(10.0, rel=1e-4)
    assert torch.lobpcg(a, k=1)[0].item() == pytest.approx(10.0, rel=1e-4)
    assert torch.pca_lowrank(a, q=2)[1].shape == (2,)
