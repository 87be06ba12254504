"""shim::embedding_bags, which sums, means and maxima of bags run: values by hand, gradients by the engine."""

from __future__ import annotations

import pytest

import shim_torch as torch

WEIGHT = [[1.0, 2.0], [3.0, 5.0], [-1.0, 8.0]]


def run(mode, weight=None, samples=None, padding=-1, closed=False):
    weight = torch.tensor(WEIGHT, dtype=torch.float64) if weight is None else weight
    indices, offsets = torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2, 4] if closed else [0, 2])
    return torch.ops.shim.embedding_bags(weight, indices, offsets, samples, mode, closed, padding)


def test_sums_means_and_maxima():
    assert run(0)[0].tolist() == [[4, 7], [-2, 16]]
    out, bags, counts, _ = run(1)
    assert out.tolist() == [[2, 3.5], [-1, 8]] and bags.tolist() == [0, 0, 1, 1] and counts.tolist() == [2, 2]
    out, _, _, rows = run(2)
    assert out.tolist() == [[3, 5], [-1, 8]] and rows.tolist() == [[1, 1], [2, 2]]
    assert run(0, closed=True)[0].tolist() == run(0)[0].tolist()


def test_weights_and_padding():
    samples = torch.tensor([1.0, 2.0, 0.5, 0.0], dtype=torch.float64)
    assert run(0, samples=samples)[0].tolist() == [[7, 12], [-0.5, 4]]
    out, _, counts, _ = run(1, padding=1)
    assert out.tolist() == [[1, 2], [-1, 8]] and counts.tolist() == [1, 2]


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_gradients(mode):
    weight = torch.tensor(WEIGHT, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: run(mode, w)[0], weight)
