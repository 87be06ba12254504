"""linear_cross_entropy: in chunks it is the loss of the whole product."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("settings", [{"batch_chunk_size": 2}, {}, {"chunking_method": "aspect_ratio:4"}])
def test_linear_cross_entropy_in_chunks(reduction, settings):
    torch.manual_seed(0)
    x = torch.randn(7, 4, requires_grad=True)
    w, b = torch.randn(9, 4, requires_grad=True), torch.randn(9, requires_grad=True)
    target = torch.tensor([0, 3, 8, -100, 2, 1, 5])
    weight = torch.rand(9)
    given = dict(linear_bias=b, weight=weight, reduction=reduction)
    whole = F.linear_cross_entropy(x, w, target, **given)
    parts = F.linear_cross_entropy(x, w, target, options=nn.LinearCrossEntropyOptions(**settings), **given)
    torch.testing.assert_close(whole, parts)
    for a, c in zip(
        torch.autograd.grad(whole.sum(), (x, w, b)), torch.autograd.grad(parts.sum(), (x, w, b)), strict=True
    ):
        torch.testing.assert_close(a, c)


def test_linear_cross_entropy_refuses():
    with pytest.raises(ValueError, match="^invalid acc_policy: 'x'$"):
        nn.LinearCrossEntropyOptions(acc_policy="x")
    with pytest.raises(RuntimeError, match="^expected input with dimensionality 1 or 2, got 3$"):
        F.linear_cross_entropy(torch.ones(1, 2, 3), torch.ones(4, 3), torch.zeros(1, dtype=torch.int64))
