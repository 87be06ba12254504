"""Gradients under vmap of functions whose gradients ask for values: each item has the one that it has alone."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch.func import grad, jacrev, vmap

NAN = float("nan")
ROWS = torch.tensor([[0, 1], [3, 3]])
SAMPLES = torch.tensor([[0.5, 2.0], [-1.0, 3.0]])


def _values(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


TABLE = _values(4, 5)
MASKS = _values(3, 4, 5) > 0
WITH_NAN = _values(3, 4, 5).masked_fill(MASKS, NAN)

CASES = {
    "nanmedian": (lambda x: x.nanmedian(), WITH_NAN),
    "nanmedian of equals": (lambda x: x.nanmedian(), torch.tensor([[1.0, 1, 2, NAN], [3, NAN, NAN, 3], [NAN] * 4])),
    "nanmedian of dims": (lambda x: x.nanmedian(0)[0].nansum(), WITH_NAN),
    "masked_scatter": (lambda s, m: (torch.zeros(4, 5).masked_scatter(m, s) ** 2).sum(), _values(3, 4, 5), MASKS),
    "masked_scatter broadcast": (lambda s, m: (torch.zeros(2, 5).masked_scatter(m, s) ** 2).sum(), _values(3, 11), MASKS[:, 0]),
    "embedding_bag sum": (lambda w: (F.embedding_bag(ROWS, w, mode="sum") ** 2).sum(), _values(3, 4, 5)),
    "embedding_bag mean": (lambda w: (F.embedding_bag(ROWS, w) ** 2).sum(), _values(3, 4, 5)),
    "embedding_bag max": (lambda w: (F.embedding_bag(ROWS, w, mode="max") ** 2).sum(), _values(3, 4, 5)),
    "embedding_bag padding": (lambda w: (F.embedding_bag(ROWS, w, padding_idx=3) ** 2).sum(), _values(3, 4, 5)),
    "embedding_bag samples": (
        lambda w: (F.embedding_bag(ROWS, w, mode="sum", per_sample_weights=SAMPLES) ** 2).sum(),
        _values(3, 4, 5),
    ),
    "embedding_bag samples' own": (
        lambda p: (F.embedding_bag(ROWS, TABLE, mode="sum", per_sample_weights=p) ** 2).sum(),
        _values(3, 2, 2),
    ),
    "matrix_exp": (lambda x: torch.matrix_exp(x).sum(), _values(3, 4, 4) * torch.tensor([0.01, 1, 8]).view(3, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_item_has_its_own_gradient(name):
    function, *inputs = CASES[name]
    found = vmap(grad(function))(*inputs)
    alone = torch.stack([grad(function)(*item) for item in zip(*inputs, strict=True)])
    torch.testing.assert_close(found, alone, equal_nan=True)
    assert found.nan_to_num().abs().sum() > 0


def test_equal_medians_share_the_gradient():
    assert torch.equal(vmap(grad(torch.nanmedian))(torch.tensor([[1.0, NAN, 1, 5]])), torch.tensor([[0.5, 0, 0.5, 0]]))


@pytest.mark.parametrize("name", ("masked_scatter", "matrix_exp"))
def test_second_gradients(name):
    function, x, *rest = CASES[name]

    def slope(x, *rest):
        return (grad(function)(x, *rest) ** 2).sum()

    found = vmap(grad(slope))(x, *rest)
    alone = torch.stack([grad(slope)(*item) for item in zip(x, *rest, strict=True)])
    torch.testing.assert_close(found, alone, rtol=1e-4, atol=1e-4)


def test_the_source_of_masked_scatter_has_a_jacobian():
    mask = torch.tensor([True, False, True])
    found = jacrev(lambda s: torch.zeros(3).masked_scatter(mask, s))(torch.ones(4))
    assert torch.equal(found, torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]))


def test_the_gradient_of_masked_scatters_gradient():
    g, mask = torch.ones(2, 3, requires_grad=True), torch.tensor([True, False, True])
    found = torch.ops.aten.masked_scatter_backward(g, mask, (5,))
    found.backward(torch.arange(5.0))
    assert found.tolist() == [1, 1, 1, 1, 0] and g.grad.tolist() == [[0, 0, 1], [2, 0, 3]]
