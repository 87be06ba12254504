"""torch.unique along a dim orders rows as PyTorch's comparison does, which NaN neither precedes nor follows."""

from __future__ import annotations

import pytest

import shim_torch as torch

nan = float("nan")


@pytest.mark.devices("cpu", "cuda")
def test_rows_that_nan_leaves_equal_stay_in_place(device):
    values, inverse, counts = torch.unique(
        torch.tensor([nan, 0, 0, nan, nan, 1]), return_inverse=True, return_counts=True, dim=0
    )
    assert [str(v) for v in values.tolist()] == ["nan", "0.0", "nan", "nan", "1.0"]
    assert inverse.tolist() == [0, 1, 1, 2, 3, 4] and counts.tolist() == [1, 2, 1, 1, 1]


@pytest.mark.devices("cpu", "cuda")
def test_rows_are_ordered_by_what_can_be_compared(device):
    rows = torch.tensor([[3.0, nan], [1, 2], [1, 2], [0, 5]])
    values, inverse, counts = torch.unique(rows, return_inverse=True, return_counts=True, dim=0)
    assert values[:2].tolist() == [[0, 5], [1, 2]] and values[2, 0] == 3 and values[2, 1].isnan()
    assert inverse.tolist() == [2, 1, 1, 0] and counts.tolist() == [1, 2, 1]


@pytest.mark.parametrize("call", [torch.unique, torch.unique_consecutive])
def test_slices_of_no_element(call):
    with pytest.raises(RuntimeError, match="more than one, so unique cannot be applied"):
        call(torch.empty(5, 0, 0), dim=1)
    with pytest.raises(RuntimeError, match="they aren't selected, so unique cannot be applied"):
        call(torch.empty(5, 0, 0), dim=0)
    assert call(torch.empty(5, 0, 3), dim=1).shape == (5, 0, 3)
