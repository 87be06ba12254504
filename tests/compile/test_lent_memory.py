"""Memory that somebody outside may read or write: compiled functions defer nothing that touches it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from test_functions import same

import shim_torch as torch


def test_memory_of_others_is_read_when_it_is_asked_for():
    array = np.arange(4, dtype=np.float32)
    shared = torch.from_numpy(array)
    own = torch.ones(4)

    def f(x):
        y = x * shared
        array[:] += 1
        z = x + 1
        x.numpy()[0] = 7  # x is deferred: it is run before its memory is lent
        return y, z, x * 2

    compiled = torch.compile(f)
    for _ in range(4):
        array[:] = np.arange(4)
        wanted = f(own.clone())
        array[:] = np.arange(4)
        assert same(compiled(own.clone()), wanted)


def floats_at(t):
    return (ctypes.c_float * 4).from_address(t.data_ptr())


@pytest.mark.parametrize("lend", (floats_at, np.from_dlpack, lambda t: t.numpy()))
def test_memory_whose_address_was_given_away_is_written_at_once(lend):
    """Where it was pending when somebody asked, too."""

    def f(x):
        y = x * 3
        outside = lend(y)
        y.add_(1)
        first = float(outside[0])
        y.mul_(2)
        outside[1] = 42
        y.sub_(1)
        return y, torch.tensor(first)

    compiled = torch.compile(f)
    for _ in range(4):
        assert same(compiled(torch.ones(4)), f(torch.ones(4)))
