"""Losses: which variances and class weights they take."""

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F


@pytest.mark.parametrize("sizes", [(3, 1), (1, 2), (3,), (3, 2)])
def test_gaussian_variances(sizes):
    x, target, var = torch.ones(3, 2), torch.full((3, 2), 0.5), torch.full(sizes, 2.0)
    expected = 0.5 * (torch.tensor(2.0).log() + 0.25 / 2)
    assert torch.allclose(F.gaussian_nll_loss(x, target, var, reduction="none"), expected.expand(3, 2))


@pytest.mark.parametrize("sizes", [(1, 1), (2,), (), (1, 3, 2)])
def test_gaussian_variances_refused(sizes):
    with pytest.raises(ValueError, match="var is of incorrect size"):
        F.gaussian_nll_loss(torch.ones(3, 2), torch.ones(3, 2), torch.ones(sizes))


@pytest.mark.parametrize("sizes", [(3, 4), (0, 4), (2, 4, 3, 3)])
@pytest.mark.parametrize(
    ("dtype", "other", "text"),
    [
        (torch.float32, torch.float64, "expected scalar type Float but found Double"),
        (torch.bfloat16, torch.float32, "expected scalar type BFloat16 but found Float"),
    ],
)
def test_class_weights_have_the_inputs_dtype(sizes, dtype, other, text):
    x, target = torch.ones(sizes, dtype=dtype), torch.zeros(sizes[0], *sizes[2:], dtype=torch.long)
    for loss in (F.nll_loss, F.cross_entropy):
        with pytest.raises(RuntimeError, match=text):
            loss(x, target, torch.ones(4, dtype=other))
        assert loss(x, target, torch.ones(4, dtype=dtype)).dtype == dtype
