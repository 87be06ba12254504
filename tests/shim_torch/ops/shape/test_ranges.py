"""arange, range, linspace and logspace: values, dtypes, what is refused."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_whole_numbers():
    assert torch.arange(4).tolist() == [0, 1, 2, 3] and torch.arange(4).dtype is torch.int64
    assert torch.arange(1, 8, 3).tolist() == [1, 4, 7] and torch.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert torch.arange(2, 2).shape == (0,)


def test_fractions():
    assert torch.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75] and torch.arange(0.0, 2).dtype is torch.float32
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert torch.range(0, 1, 0.5).tolist() == [0, 0.5, 1]
        assert torch.range(-5, 5, 2.5, dtype=torch.int8).tolist() == [-5, -3, -1, 1, 3, 5]  # a step of 2
        assert torch.range(7.9, 0.2, -1.9, dtype=torch.int16).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
        with pytest.raises(RuntimeError, match="step must be nonzero"):
            torch.range(0, 1, 0.5, dtype=torch.int64)


def test_even_steps():
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.linspace(3, 3, 1).tolist() == [3] and torch.linspace(0, 1, 0).shape == (0,)
    assert torch.linspace(0, 10, 3, dtype=torch.int64).tolist() == [0, 5, 10]
    assert torch.logspace(0, 3, 4).tolist() == pytest.approx([1, 10, 100, 1000])
    assert torch.logspace(0, 2, 3, base=2).tolist() == [1, 2, 4]
    assert torch.linspace(torch.tensor(1.0), 2, 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: torch.arange(0, 1, 0), "step must be nonzero"),
        (lambda: torch.arange(1, 0), "upper bound and lower bound inconsistent with step sign"),
        (lambda: torch.linspace(0, 1, -1), "number of steps must be non-negative"),
        (lambda: torch.arange(0, math.inf), "unsupported range: 0 -> inf"),
    ],
)
def test_what_is_refused(run, text):
    with pytest.raises(RuntimeError, match=text):
        run()
