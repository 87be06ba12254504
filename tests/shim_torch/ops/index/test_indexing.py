"""Strides of results of indexing by tensors, and what is assigned at True and False; PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch

STRIDES = {
    "T[[0, 1, 1]]": (2, 1), "c.permute(2, 0, 1)[:, [0, 1]]": (1, 4, 8), "c.permute(2, 0, 1)[:, :, [0, 1]]": (2, 8, 1),
    "c.permute(2, 0, 1)[[0, 1], :, [0, 1]]": (2, 1), "c.transpose(0, 2)[[0, 2]]": (6, 1, 3),
    "T[torch.zeros(3, 2, dtype=torch.long).t()]": (2, 4, 1), "T[None, [0, 1]]": (4, 2, 1), "c[:, [0, 1]]": (8, 4, 1),
    "c.expand(5, 2, 3, 4)[:, [0, 1]]": (24, 12, 4, 1),
}  # fmt: skip


@pytest.mark.parametrize("expression", STRIDES)
def test_results_lie_as_an_iterator_has_them(expression, device):
    T, c = torch.arange(6.0).view(2, 3).t(), torch.arange(24.0).view(2, 3, 4)
    found = eval(expression, {"torch": torch, "T": T, "c": c})
    assert found.stride() == STRIDES[expression]
    if device == "cpu":
        plain = eval(expression, {"torch": torch, "T": T.contiguous(), "c": c})
        assert torch.equal(found, plain)


@pytest.mark.devices("cpu", "cuda")
def test_results_of_masks_lie_so_too(device):
    c = torch.arange(24.0).view(2, 3, 4).transpose(0, 2)
    found = c[torch.tensor([True, False, True, False])]
    assert found.stride() == (6, 1, 3) and torch.equal(found, torch.stack([c[0], c[2]]))


@pytest.mark.devices("cpu", "cuda")
def test_assignment_at_true_and_false(device):
    x = torch.zeros(2, 3)
    with pytest.raises(TypeError, match="can't assign a str to a torch"):
        x[False] = "a"
    x[False] = 5
    assert x.eq(0).all()
    x[True] = torch.ones(3, dtype=torch.float64)  # a copy, which casts
    assert x.dtype == torch.float32 and x.eq(1).all()
    with pytest.raises(RuntimeError, match=r"Target sizes: \[1, 2, 3\]"):
        x[True] = torch.ones(7)


def test_an_index_into_nothing_is_refused(device):
    x = torch.empty(10, 0, device=device)
    assert x[[1, 2]].shape == (2, 0)
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        x[:, [0, 1]]


def test_index_put_with_negative_places_and_repeats():
    x = torch.zeros(3, 4)
    x.index_put_((torch.tensor([0, -1, 0]), torch.tensor([-1, 1, 3])), torch.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [[0, 0, 0, 5], [0, 0, 0, 0], [0, 2, 0, 0]]
    x[torch.tensor([2, 1])] = torch.arange(4.0)
    assert x[1:].tolist() == [[0, 1, 2, 3]] * 2
    x[torch.tensor([[0], [1]]), torch.tensor([0, 2])] = 9.0
    assert x[:2, ::2].tolist() == [[9, 9], [9, 9]]
    grid = torch.zeros(2, 3, 4)
    grid[torch.tensor([1, 0])] = torch.arange(12.0).view(3, 4)
    assert torch.equal(grid[0], grid[1]) and grid[1, 2, 3] == 11


def test_assigning_numbers():
    x = torch.zeros(2, 3)
    x[x == 0] = 2
    x[torch.tensor([1])] = 5.0
    assert x.tolist() == [[2, 2, 2], [5, 5, 5]] and x._version == 2
    whole = torch.arange(4)
    whole[whole > 1] = 7
    whole[torch.tensor([0, -1])] = -1
    assert whole.tolist() == [-1, 1, 7, -1]
    with pytest.raises(IndexError):
        whole[torch.tensor([4])] = 1
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[torch.tensor([True, False, True])] = 1.0
