"""Values of batched operators where the batch meets dims of the operator's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import shim_torch as torch
from shim_torch.func import vmap

INDEXED: list[Callable[[Any, Any], Any]] = [
    lambda x, i: x[:, i],
    lambda x, i: x[i, :],
    lambda x, i: x[:, :, i],
    lambda x, i: x[:, :, i, :],
    lambda x, i: x[:, i, i],
]


@pytest.mark.parametrize("pick", INDEXED)
@pytest.mark.parametrize("index", [[0, 2, 1], [[0, 2], [1, 0]]])
def test_indexed_dims_stay_in_their_place(pick: Callable[[Any, Any], Any], index: Any) -> None:
    x, i = torch.arange(2 * 3 * 3 * 3 * 2).reshape(2, 3, 3, 3, 2), torch.tensor(index)
    assert torch.equal(vmap(pick, (0, None))(x, i), torch.stack([pick(item, i) for item in x]))
    both = torch.stack([i, i.flip(0)])
    assert torch.equal(vmap(pick)(x, both), torch.stack([pick(*each) for each in zip(x, both, strict=True)]))


SUMS: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    ("addmm", (2, 4), (4, 3)),
    ("baddbmm", (5, 2, 4), (5, 4, 3)),
    ("addmv", (3, 4), (4,)),
]


@pytest.mark.parametrize(("name", "left", "right"), SUMS)
@pytest.mark.parametrize("bias", [(), (1,), (3,)])
@pytest.mark.parametrize("dims", [(0, 0, 0), (0, None, None), (None, 0, None), (0, None, 0), (None, None, 0)])
def test_what_is_added_broadcasts_against_the_item(
    name: str, left: tuple[int, ...], right: tuple[int, ...], bias: tuple[int, ...], dims: tuple[int | None, ...]
) -> None:
    function = getattr(torch, name)
    given = []
    for n, (shape, dim) in enumerate(zip((bias, left, right), dims, strict=True)):
        whole = (2, *shape) if dim == 0 else shape
        count = 1
        for size in whole:
            count *= size
        given.append((torch.arange(float(count)) + n).reshape(whole))
    for beta in (0, 1, 2):
        found = vmap(lambda c, a, b, beta=beta: function(c, a, b, beta=beta), dims)(*given)
        items = [[t[k] if d == 0 else t for t, d in zip(given, dims, strict=True)] for k in range(2)]
        assert torch.equal(found, torch.stack([function(*each, beta=beta) for each in items]))


OUTER: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (torch.addr, [(2, 3), (2,), (3,)]),
    (torch.addr, [(), (2,), (3,)]),
    (torch.addbmm, [(2, 3), (4, 2, 5), (4, 5, 3)]),
    (lambda x: x.squeeze(), [(1, 3, 1)]),
    (lambda x: x.unfold(0, 2, 1), [(4,)]),
    (lambda x: torch.view_as_complex(x), [(3, 2)]),
    (lambda x: x.as_strided((2, 2), (1, 2)), [(2, 3)]),
    (lambda x: x.index_fill(1, torch.tensor([0, 2]), 7.0), [(2, 3)]),
    (torch.absolute, [(2,)]),
    (torch.arctan2, [(2,), (2,)]),
    (lambda x: torch.remainder(5.0, x + 1), [(2,)]),
    (lambda x: torch.sort(x, 0)[0], [()]),
    (lambda x: x.cumsum(0), [()]),
    (lambda x: (x > 1).any(0), [()]),
    (lambda x: (x > 1).all(-1, keepdim=True), [()]),
]


@pytest.mark.parametrize(("function", "shapes"), OUTER)
def test_values_are_those_of_the_items(function: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    given = [torch.arange(float(2 * max(1, torch.zeros(s).numel()))).reshape(2, *s) for s in shapes]
    items = torch.stack([function(*(t[k] for t in given)) for k in range(2)])
    assert torch.equal(vmap(function)(*given), items)


def test_views_under_vmap_are_views_outside() -> None:
    x = torch.arange(12.0).reshape(2, 6).clone()
    assert vmap(lambda t: t.as_strided((2,), (3,), 1))(x)._base is x
    assert vmap(lambda t: t.unfold(0, 2, 2))(x)._base is x
    assert vmap(lambda t: t.new_empty_strided((2, 3), (3, 1)))(x).stride() == (6, 3, 1)
