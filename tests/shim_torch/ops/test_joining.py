"""Blocks along a diagonal, padded sequences, and what they refuse."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn.utils.rnn import pad_sequence


def test_blocks_along_the_diagonal():
    made = torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3), torch.tensor([4.5]))
    assert made.tolist() == [[1, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4.5]] and made.dtype is torch.float32
    assert torch.block_diag().shape == (1, 0)
    assert torch.ops.aten.block_diag([torch.ones(1, 1), torch.ones(2)]).tolist() == [[1, 0, 0], [0, 1, 1]]


def test_gradients_of_blocks():
    x = torch.ones(2, 2, requires_grad=True)
    (torch.block_diag(x, torch.ones(1)) * torch.arange(9.0).view(3, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1], [3, 4]]


def test_padded_sequences():
    given = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    assert pad_sequence(given).tolist() == [[1, 4], [2, 0], [3, 0]]
    assert pad_sequence(given, True, -1).tolist() == [[1, 2, 3], [4, -1, -1]]
    assert pad_sequence(given, batch_first=True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4]]
    assert torch.ops.aten.pad_sequence(given, True).tolist() == [[1, 2, 3], [4, 0, 0]]


@pytest.mark.parametrize(
    ("run", "kind", "text"),
    [
        (
            lambda: torch.block_diag(torch.ones(2), 3),
            TypeError,
            "expected Tensor as element 1 in argument 0, but got int",
        ),
        (lambda: torch.block_diag(torch.ones(1, 1, 1)), RuntimeError, "Input 0 has 3 dimensions"),
        (
            lambda: pad_sequence([torch.ones(2), 3]),
            TypeError,
            "expected Tensor as element 1 in argument 0, but got int",
        ),
        (lambda: pad_sequence([]), RuntimeError, "received an empty list of sequences"),
        (lambda: pad_sequence([torch.ones(2)], padding_side="up"), RuntimeError, "one of left or right, but got up"),
        (
            lambda: torch.linalg.solve(torch.eye(2), torch.ones(2, 2, dtype=torch.uint16)),
            RuntimeError,
            "A of type Float and B of type UInt16",
        ),
    ],
)
def test_what_is_refused(run, kind, text):
    with pytest.raises(kind, match=text):
        run()
