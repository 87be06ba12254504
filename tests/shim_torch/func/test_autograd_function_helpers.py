"""torch._functorch.autograd_function: contexts around contexts, gradients with the batch where the input has it."""

import pytest

import shim_torch as torch


def helpers():
    return torch._functorch.autograd_function


def test_a_context_with_other_saved_tensors():
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            outer = helpers().CtxWithSavedTensors(ctx, (1, 2))
            inner = helpers().CtxWithSavedTensors(outer, (3,))
            outer.name = "set"
            seen.append((outer.saved_tensors, inner.saved_tensors, inner.name, ctx.name, inner.needs_input_grad))
            ctx._pt_inner_ctx = 1
            with pytest.raises(RuntimeError, match="name collision"):
                helpers().CtxWithSavedTensors(ctx, ())
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert seen == [((1, 2), (3,), "set", "set", (True,))] and x.grad.tolist() == [2, 2]


def test_gradients_get_the_batch_of_their_input():
    leaf = helpers().reductify_leaf
    g = torch.arange(24.0).reshape(2, 3, 4)
    assert leaf(None, None, 0, 2) is None and leaf(g, None, None, 2) is g
    assert torch.equal(leaf(g, 0, None, 2), g.sum(0))
    assert torch.equal(leaf(g[0], None, 1, 2), g[0].unsqueeze(1).expand(3, 2, 4))
    assert torch.equal(leaf(g, 0, 1, 2), g.movedim(0, 1))
    assert torch.equal(leaf(g[0], None, 1, 2, (4,)), g[0].sum(0).unsqueeze(1).expand(4, 2))
    assert torch.equal(leaf(g, 0, 0, 2, (4,)), g.sum(1))
    found = helpers().reductify((g, None), (0, None), (None, 0), 2)
    assert torch.equal(found[0], g.sum(0)) and found[1] is None
