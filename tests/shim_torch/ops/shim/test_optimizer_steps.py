"""Steps over lists by their kernels are those of their bodies, in tensor operations."""

from __future__ import annotations

import itertools

import pytest

import shim_torch as torch
from shim_torch._impl.records.shim import optimizer_steps
from shim_torch._impl.table.calls import shim

pytestmark = pytest.mark.devices("cpu")

# How many lists of states an operator has beside the counts, and which of them may be empty; its numbers.
STEPS = [
    ("adam_step", 3, {2}, True, (0.02, 0.9, 0.99, 0.1, 1e-8), 2),
    ("sgd_step", 1, {0}, False, (0.02, 0.9, 0.3, 0.1), 2),
    ("adagrad_step", 1, set(), True, (0.02, 0.1, 0.1, 1e-10), 1),
    ("rmsprop_step", 3, {1, 2}, True, (0.02, 0.99, 0.1, 1e-8, 0.9), 1),
    ("adadelta_step", 2, set(), True, (0.5, 0.9, 0.1, 1e-6), 1),
    ("adamax_step", 2, set(), True, (0.02, 0.9, 0.99, 0.1, 1e-8), 1),
    ("nadam_step", 2, set(), True, (0.02, 0.9, 0.99, 0.1, 1e-8, 4e-3), 2),
    ("radam_step", 2, set(), True, (0.02, 0.5, 0.6, 0.1, 1e-8), 2),
]


def arguments(name, states, empty, counts):
    torch.manual_seed(0)
    shapes = [(3, 4), (5,), (2, 3, 2)]
    lists = [[torch.randn(s) for s in shapes], [torch.randn(s) for s in shapes]]
    lists += [[] if k in empty else [torch.rand(s) for s in shapes] for k in range(states)]
    if name == "nadam_step":
        lists.append([torch.tensor(0.5 + i / 10) for i in range(3)])
    return [*lists, [torch.tensor(2.0 + i) for i in range(3)]] if counts else lists


@pytest.mark.parametrize("name, states, optional, counts, numbers, switches", STEPS, ids=[s[0] for s in STEPS])
def test_kernels_and_bodies(name, states, optional, counts, numbers, switches):
    for on in itertools.product((False, True), repeat=switches):
        for size in range(len(optional) + 1):
            for empty in itertools.combinations(optional, size):
                sides = []
                for run in (getattr(shim, name), getattr(optimizer_steps, name)):
                    lists = arguments(name, states, empty, counts)
                    for _ in range(4):
                        run(*lists, *numbers, *on)
                    sides.append([t for values in lists for t in values])
                for a, b in zip(*sides, strict=True):
                    torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7, equal_nan=True)


def test_gradients_that_lie_in_another_way():
    sides = []
    for transposed in (False, True):
        lists = arguments("adam_step", 3, (), True)
        if transposed:
            lists[1][0] = lists[1][0].t().contiguous().t()
        shim.adam_step(*lists, 0.02, 0.9, 0.99, 0.1, 1e-8, False, True)
        sides.append([t for values in lists for t in values])
    for a, b in zip(*sides, strict=True):
        assert torch.equal(a, b)


def test_what_kernels_leave_to_the_bodies():
    lists = arguments("sgd_step", 1, (), False)
    lists[2][0] = lists[2][0].double()
    shim.sgd_step(*lists, 0.02, 0.9, 0.0, 0.0, False, False)
    assert lists[2][0].dtype == torch.float64


@pytest.mark.parametrize("missing", [1, 2, 3, 5])
def test_lists_of_other_lengths_are_refused(missing):
    lists = [[torch.ones(3)] for _ in range(6)]
    lists[4] = []  # of amsgrad alone
    lists[missing] = []
    with pytest.raises(RuntimeError, match="a step of 1 parameters was given lists of"):
        torch.ops.shim.adam_step(*lists, 0.1, 0.9, 0.99, 0.0, 1e-8, False, False)
