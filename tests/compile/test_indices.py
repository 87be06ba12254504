"""Operators that read and write by index are deferred; an index out of range is an error where they run, which tells their line."""

from __future__ import annotations

import sys

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.compile.calls import counts

INDEX = torch.tensor([2, 0])


def rows(x, i):
    return F.embedding(i * 1, x * 2) + 1


def classes(x, i):
    return F.cross_entropy(x[:2] * 2, i * 1), F.nll_loss(x[:2] * 2, i * 1, reduction="none")


def places(x, i):
    y = x * 2
    y[i] += 1
    y.scatter_(0, i[None].expand(1, 2), 5.0)
    return y.gather(0, i[None] * 1), y.index_select(1, i), y[:, i * 1].masked_fill(y[:, i] > 0, 3)


@pytest.mark.parametrize("function", [rows, classes, places])
@pytest.mark.parametrize("options", [{}, {"backend": "eager"}, {"backend": lambda graph, inputs: graph.forward}])
def test_one_program(function, options):
    compiled = torch.compile(function, **options)
    for k in range(4):
        x, i = torch.randn(3, 3), (INDEX + k) % 3
        before = counts["deferred"], counts["runs"]
        got = compiled(x, i)
        torch.testing.assert_close(got, function(x, i), rtol=0, atol=1e-6 if options else 0)
        runs = (
            2 if function is classes and callable(options.get("backend")) else 1
        )  # parts of a loss look at its targets
        assert k == 0 or (counts["deferred"] - before[0] > 3 and counts["runs"] - before[1] == runs)


@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_an_index_out_of_range(backend):
    compiled = torch.compile(rows, backend=backend)
    x = torch.randn(3, 3)
    for _ in range(2):
        compiled(x, INDEX)
    with pytest.raises(IndexError, match="index out of range in self") as raised:
        compiled(x, INDEX + 1)
    if sys.version_info >= (3, 11):
        (note,) = raised.value.__notes__
        assert note.startswith("In a compiled function, by aten::embedding at ")
        assert note.endswith(f"test_indices.py:{rows.__code__.co_firstlineno + 1}")
    assert torch.equal(compiled(x, INDEX), rows(x, INDEX))


def test_what_was_written_before_the_error():
    def f(x, i):
        x.add_(1)
        y = x[i * 1]
        x.add_(1)
        return y

    compiled = torch.compile(f)
    x = torch.zeros(3)
    for _ in range(2):
        compiled(x, INDEX)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        compiled(x, INDEX + 1)
    assert x.tolist() == [5, 5, 5]


def test_masks_are_read():
    """How many elements a mask takes is told by what it holds."""

    def f(x, m):
        y = x * 2
        y[m[:, 0]] = 0
        return y[m], y[m[:, 0]] + 1, y[(m * 1)[:, 0].to(torch.uint8).bool()]

    compiled = torch.compile(f)
    for k in range(4):
        x = torch.randn(3, 4)
        assert all(map(torch.equal, compiled(x, x > k / 4), f(x, x > k / 4)))
