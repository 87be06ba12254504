"""The masks of torch.masked's inputs and results; values of PyTorch."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import masked


def test_masks_are_broadcast_to_the_input() -> None:
    mask = masked._input_mask(torch.ones(2, 3), mask=torch.tensor([1, 0, 1]))
    assert mask.dtype is torch.bool and mask.tolist() == [[True, False, True]] * 2
    with pytest.raises(ValueError, match="_input_mask requires explicit mask"):
        masked._input_mask(torch.ones(2), mask=None)
    with pytest.raises(IndexError, match="got mask dimensionality higher than of the input"):
        masked._input_mask(torch.ones(3), mask=torch.ones(2, 3).bool())


def test_masks_of_results() -> None:
    mask = torch.tensor([[True, False, True], [False, False, True]])
    x = torch.ones(2, 3)
    assert masked._output_mask(masked.sum, x, 0, mask=mask).tolist() == [True, False, True]
    assert masked._output_mask(masked.norm, x, 2.0, 1, mask=mask, keepdim=True).tolist() == [[True], [True]]
    assert masked._output_mask(masked.softmax, x, 0, mask=mask).tolist() == mask.tolist()
    assert masked._canonical_dim((-1, 0), 3) == (0, 2) and masked._canonical_dim(None, 2) == (0, 1)


def test_identities() -> None:
    x = torch.ones(2, dtype=torch.int32)
    assert [masked._reduction_identity(n, x).item() for n in ("sum", "prod", "amax", "amin")] == [
        0,
        1,
        -(2**31),
        2**31 - 1,
    ]
    assert masked._reduction_identity("mean", x) is None
    filled = masked._combine_input_and_mask(masked.amax, torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    assert filled.tolist() == [1.0, -torch.inf]


def test_where_of_sparse_tensors() -> None:
    mask = torch.tensor([[True, False], [True, True]]).to_sparse()
    x = torch.tensor([[1.0, 0.0], [0.0, 4.0]]).to_sparse()
    found = masked._where(mask, x, torch.tensor(9.0))
    assert found.coalesce().values().tolist() == [1.0, 0.0, 4.0] and found.coalesce().indices().tolist() == [
        [0, 1, 1],
        [0, 0, 1],
    ]


@pytest.mark.parametrize("layout", ["coo", "csr", "hybrid"])
def test_where_specifies_only_what_a_sparse_mask_keeps(layout) -> None:
    mask = torch.tensor([[True, True, False], [False, True, False]])
    x = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 6.0]])
    sparse = {"coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "hybrid": lambda t: t.to_sparse(1)}[
        layout
    ]
    mask, x = sparse(mask), sparse(x)
    if layout == "hybrid":
        mask.values()[1] = False
    else:
        mask.values()[1:] = torch.tensor([False, True])
    found = masked._where(mask, x, torch.tensor(9.0))
    if layout == "hybrid":
        assert found.indices().tolist() == [[0]] and found.values().tolist() == [[1.0, 2.0, 9.0]]
    else:
        assert found.values().tolist() == [1.0, 0.0]
        assert found.to_dense().tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
