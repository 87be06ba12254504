"""searchsorted and bucketize: places on both sides, rows, sorters, what is refused."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_both_sides():
    edges, values = torch.tensor([1, 3, 3, 5]), torch.tensor([0, 1, 3, 4, 6])
    assert torch.searchsorted(edges, values).tolist() == [0, 0, 1, 3, 4]
    assert torch.searchsorted(edges, values, right=True).tolist() == [0, 1, 3, 3, 4]
    assert torch.searchsorted(edges, values, side="right").tolist() == [0, 1, 3, 3, 4]
    assert torch.bucketize(values, edges).tolist() == [0, 0, 1, 3, 4]
    assert torch.bucketize(3, edges, right=True).item() == 3 and torch.searchsorted(edges, 3).item() == 1


def test_rows_and_sorters():
    edges = torch.tensor([[1, 2, 3], [10, 20, 30]])
    assert torch.searchsorted(edges, torch.tensor([[2, 4], [2, 25]])).tolist() == [[1, 3], [0, 2]]
    mixed = torch.tensor([3, 1, 2])
    assert torch.searchsorted(mixed, torch.tensor([2]), sorter=mixed.argsort()).tolist() == [1]


def test_dtypes():
    edges = torch.tensor([1.0, 2.0])
    assert torch.searchsorted(edges, edges).dtype is torch.int64
    assert torch.bucketize(edges, edges, out_int32=True).dtype is torch.int32
    assert torch.searchsorted(edges, torch.tensor([math.nan])).tolist() == [2]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda e: torch.searchsorted(e, e, side="left", right=True), "side and right can't be set to opposites"),
        (lambda e: torch.searchsorted(e, e, side="up"), "side can only be 'left' or 'right' but got up"),
        (
            lambda e: torch.searchsorted(e.view(1, 2), torch.ones(2, 2)),
            "the first N-1 dimensions of boundaries tensor and input value tensor must match",
        ),
        (lambda e: torch.bucketize(e, e.view(1, 2)), "boundaries tensor must be 1 dimension, but got dim\\(2\\)"),
        (lambda e: torch.searchsorted(e, e, sorter=torch.tensor([0.0, 1.0])), "sorter must be a tensor of long dtype"),
    ],
)
def test_what_is_refused(run, text):
    with pytest.raises(RuntimeError, match=text):
        run(torch.tensor([1.0, 2.0]))
