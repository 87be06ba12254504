"""Operators on a tensor's own state against PyTorch 2.13; draws like another tensor."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import tensors_cases as cases

aten = torch.ops.aten


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_data_and_history():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    aten.retain_grad(y)
    aten._backward(y.sum(), [x])
    assert x.grad.tolist() == [2, 2]
    assert not aten.data(x).requires_grad and aten.requires_grad_(torch.ones(1)).requires_grad
    aten.set_data(x, torch.zeros(3))
    assert x.tolist() == [0, 0, 0] and x.requires_grad
    assert aten._resize_output_(torch.empty(0), [2, 2], x.device).shape == (2, 2)
    assert aten._copy_from_and_resize(torch.ones(2, 3), torch.empty(0)).tolist() == [[1] * 3] * 2
    with pytest.raises(RuntimeError, match="out Tensor doesn't have the correct device set"):
        aten._resize_output_(torch.empty(0), [2], torch.device("meta"))


@pytest.mark.parametrize(
    ("like", "plain"),
    [
        (lambda x, g: aten.rand_like.generator(x, generator=g), lambda g: torch.rand(3, 4, generator=g)),
        (lambda x, g: aten.randn_like.generator(x, generator=g), lambda g: torch.randn(3, 4, generator=g)),
        (lambda x, g: aten.randint_like.generator(x, 9, generator=g), lambda g: torch.randint(9, (3, 4), generator=g)),
        (
            lambda x, g: aten.randint_like.Tensor_generator(x, torch.tensor(9), generator=g),
            lambda g: torch.randint(9, (3, 4), generator=g),
        ),
        (
            lambda x, g: aten.randint_like.low_generator_dtype(x, 3, 9, generator=g),
            lambda g: torch.randint(3, 9, (3, 4), generator=g),
        ),
        (
            lambda x, g: aten.normal_functional(x, 1.0, 2.0, generator=g),
            lambda g: torch.normal(1.0, 2.0, (3, 4), generator=g),
        ),
    ],
)
def test_draws_by_a_generator(like, plain):
    x = torch.zeros(3, 4)
    found = like(x, torch.Generator().manual_seed(5))
    assert found.dtype == torch.float32 and not x.any()
    torch.testing.assert_close(found, plain(torch.Generator().manual_seed(5)).float())


def test_dropout_and_slopes_keep_what_was_drawn():
    x = pattern(torch, 40, 50)
    kept, mask = aten._fused_dropout(x, 0.25)
    assert mask.dtype == torch.uint8 and 0.15 < mask.float().mean() < 0.35
    torch.testing.assert_close(kept, x * mask * 4)
    noise = torch.empty_like(x)
    found = aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    torch.testing.assert_close(found, x * noise)
    low = x <= 0
    assert (noise[~low] == 1).all() and ((noise[low] >= 0.1) & (noise[low] <= 0.3)).all() and noise[low].std() > 0.03
