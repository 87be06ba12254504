"""``torch.autograd.Function`` under vmap: by its own rule, by its operators, and refused."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.func import vmap


def randn(*size):
    return torch.randn(*size, generator=torch.Generator().manual_seed(sum(size)), dtype=torch.float64)


A = randn(3, 4, 5)
W = randn(5)


class Product(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, g * x


class OwnRule(Product):
    generate_vmap_rule = False
    seen: list = []

    @staticmethod
    def vmap(info, in_dims, x, w):
        OwnRule.seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return OwnRule.apply(x, w), 0


@pytest.mark.parametrize("function", [Product, OwnRule])
def test_functions(function):
    w = W.clone().requires_grad_()
    found = vmap(lambda row: function.apply(row, w).sum())(A[:, 0])
    assert torch.allclose(found, A[:, 0] @ W)
    assert torch.allclose(torch.autograd.grad(found.sum(), w)[0], A[:, 0].sum(0))
    if function is OwnRule:
        assert OwnRule.seen[-1] == (3, "error", (0, None), (3, 5))


def test_functions_without_a_rule():
    class Without(Product):
        generate_vmap_rule = False

    class Both(OwnRule):
        generate_vmap_rule = True

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

    for cls, text in (
        (Without, "You tried to vmap over Without, but it does not have vmap support"),
        (Both, "it has both generate_vmap_rule=True and an overriden vmap staticmethod"),
        (Old, "it must override the setup_context staticmethod"),
    ):
        with pytest.raises(RuntimeError, match=text):
            vmap(lambda row, cls=cls: cls.apply(row, W))(A[:, 0])
