"""Hooks, functions of users, freed graphs and written memory: backward passes that are not repeated, or only in part."""

import pytest
from repeated_passes import leaves, same

import shim_torch as torch


def test_hooks_of_tensors():
    def step(n, x, w):
        x.grad = w.grad = None
        h = x @ w
        if n in (2, 4):
            h.register_hook(lambda g: g * 2)
        h.sin().sum().backward()
        return x.grad.clone()

    same(step, leaves, 8)


def test_hooks_of_leaves_and_nodes():
    seen = []

    def step(n, x, w):
        x.grad = w.grad = None
        h = (x @ w).sin()
        handles = []
        if n == 3:
            handles.append(w.register_hook(lambda g: g + 1))
        if n == 4:
            handles.append(w.register_post_accumulate_grad_hook(lambda p: seen.append(n)))
        if n == 5:
            handles.append(h.grad_fn.register_hook(lambda gi, go: seen.append(n)))
        if n == 6:
            handles.append(h.grad_fn.register_prehook(lambda go: (go[0] * 3,)))
        h.sum().backward()
        for one in handles:
            one.remove()
        return w.grad.clone()

    same(step, leaves, 9)
    assert seen == [4, 4, 5, 5]


def test_retained_gradients():
    def step(n, x, w):
        x.grad = w.grad = None
        h = x @ w
        if n % 2:
            h.retain_grad()
        h.sin().sum().backward()
        return h.grad if n % 2 else x.grad.clone()

    same(step, leaves, 8)


def test_a_graph_that_is_kept():
    def step(n, x, w):
        x.grad = w.grad = None
        y = (x @ w).sin().sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()
        return x.grad.clone()

    same(step, leaves)


def test_a_graph_that_was_freed_by_a_repeated_pass():
    def step(n, x, w):
        x.grad = w.grad = None
        h = x @ w
        h.sin().sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            (h * h).sum().backward()
        return x.grad.clone()

    same(step, leaves, repeated=True)


def test_what_was_saved_is_written_to():
    def step(n, x, w):
        x.grad = w.grad = None
        h = (x @ w).exp()
        y = h.sum()
        if n in (3, 5):
            with torch.no_grad():
                h.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.backward()
            return h.detach()
        y.backward()
        return x.grad.clone()

    same(step, leaves, 8)


def test_gradients_of_gradients():
    def step(n, x, w):
        x.grad = w.grad = None
        y = (x @ w).sin().sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (g * g).sum().backward()
        return w.grad.clone()

    same(step, leaves)


def test_functions_of_users():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + 0 * x

    def step(n, x, w):
        x.grad = w.grad = None
        Twice.apply(x @ w).sum().backward()
        return x.grad.clone()

    same(step, leaves, repeated=False)


def test_hooks_of_saved_tensors():
    def step(n, x, w):
        x.grad = w.grad = None
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * (2 if n == 4 else 1)):
            y = (x * w).exp()
        y.sum().backward()
        return x.grad.clone()

    same(step, leaves, 7, repeated=False)


def test_an_error_in_the_pass_comes_each_time():
    def step(n, x, w):
        x.grad = None
        y = (x @ w).sum()
        if n == 4:
            x.register_hook(lambda g: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                y.backward()
            return y.detach()
        y.backward()
        return x.grad.clone()

    def once():
        return leaves()

    same(step, once, 5)


def test_gradients_of_repeated_passes_are_plain_tensors():
    x, w = leaves()

    def step():
        (x @ w).sum().backward()
        g, x.grad, w.grad = x.grad, None, None
        return g

    run = torch.compile(step)
    kept = [run() for _ in range(6)]
    for g in kept:
        torch.testing.assert_close(g, kept[0])
        assert type(g) is torch.Tensor and g.is_leaf and not g.requires_grad and g.grad_fn is None
    kept[-1].add_(1)
    torch.testing.assert_close(kept[-2], kept[0])
