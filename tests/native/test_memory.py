"""Creating and destroying tensors leaves memory flat."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import shim_torch as torch

CYCLES = 1_000_000


def resident() -> int:
    """Bytes of this process that are in memory now."""
    try:
        with open("/proc/self/statm") as f:
            pages = int(f.read().split()[1])
    except OSError:
        pytest.skip("needs /proc")
    import resource

    return pages * resource.getpagesize()


def growth(call: Callable[[], Any], cycles: int) -> int:
    """How many bytes the process grows by over the calls, after a first tenth of them."""
    for _ in range(cycles // 10):
        call()
    gc.collect()
    before = resident()
    for _ in range(cycles):
        call()
    gc.collect()
    return resident() - before


def test_a_million_tensors() -> None:
    assert growth(lambda: torch.empty(1000), CYCLES) < 1 << 20


CASES: dict[str, Callable[[Any], Any]] = {
    "a view": lambda x: x[1:].t(),
    "a sum of two": lambda x: x + x,
    "an indexed one": lambda x: x[torch.tensor([0, 1])],
    "a body's result": lambda x: x.sort(),
    "a product": lambda x: x @ x.t(),
    "pieces": lambda x: x.split(1),
    "a graph": lambda x: x.clone().requires_grad_().mul(2).sum().backward(),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_freed(name: str) -> None:
    x, call = torch.ones(4, 4), CASES[name]
    assert growth(lambda: call(x), 30_000) < 1 << 20


def test_assignments_are_freed() -> None:
    x, row = torch.zeros(4, 4), torch.ones(4)

    def assign() -> None:
        x[1] = row
        x[0, 1:] = 2.0
        x.add_(1)

    assert growth(assign, 30_000) < 1 << 20


def test_freed_blocks_are_not_shared():
    held = [torch.full((100000,), float(i)) for i in range(5)]
    for i in range(50):
        held[i % 5] = torch.full((100000 + i,), float(i))
    assert all(t.min() == t.max() for t in held)
