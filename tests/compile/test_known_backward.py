"""Backward passes that a compiled function ran before are deferred as a whole; whatever decides what a pass does is looked at each time."""

import pytest
from repeated_passes import backwards, leaves, same

import shim_torch as torch
from shim_torch import nn


def test_a_pass_is_repeated():
    def step(n, x, w):
        x.grad = w.grad = None
        loss = (x @ w).relu().sum()
        loss.backward()
        return loss.detach()

    same(step, leaves)


def test_gradients_add_up():
    def step(n, x, w):
        (x @ w).sin().sum().backward()
        return x.grad.clone()

    same(step, leaves)


def test_gradients_are_zeroed_in_place():
    def step(n, x, w):
        for p in (x, w):
            if p.grad is not None:
                p.grad.zero_()
        (x @ w).sin().sum().backward()
        return w.grad.sum()

    same(step, leaves)


def test_gradients_come_and_go():
    """Whether there is a gradient to add to is another pass."""

    def step(n, x, w):
        if n % 3 == 0:
            x.grad = None
        (x * w).exp().sum().backward()
        return x.grad.clone()

    same(step, leaves, 10)


def test_a_gradient_of_ones_own():
    """A gradient that the user put there, in memory that others use."""
    shared = torch.ones(2, 4, 4)

    def step(n, x, w):
        x.grad = shared[0].clone() if n < 5 else torch.full((4, 4), float(n))
        (x * w).sum().backward()
        return x.grad.clone()

    same(step, leaves, 8)


def test_two_gradients_in_one_memory():
    def step(n, x, w):
        both = torch.zeros(2, 4, 4)
        x.grad, w.grad = both[0], (both[1] if n < 5 else both[0])
        (x * w).sum().backward()
        return both.clone()

    same(step, leaves, 8)


def test_numbers_that_a_gradient_needs():
    def step(n, x, w):
        x.grad = w.grad = None
        ((x * float(n // 2)) @ w).sum().backward()
        return x.grad.clone()

    same(step, leaves, 8)


def test_leaves_that_are_frozen():
    def step(n, x, w):
        x.grad = w.grad = None
        w.requires_grad_(n < 3 or n > 5)
        (x @ w).cos().sum().backward()
        return x.grad.clone()

    same(step, leaves, 10)


def test_parts_that_are_detached():
    def step(n, x, w):
        x.grad = w.grad = None
        h = x @ w
        if n in (3, 4):
            h = h.detach()
        (h.sin() * x).sum().backward()
        return x.grad.clone()

    same(step, leaves, 8)


def test_gradients_of_other_values():
    def step(n, x, w):
        x.grad = w.grad = None
        y = x @ w
        y.backward(gradient=torch.full((4, 4), float(n)) if n < 4 else torch.ones(4, 4).t())
        return x.grad.clone()

    same(step, leaves, 8)


def test_two_passes_in_one_call():
    def step(n, x, w):
        x.grad = w.grad = None
        (x @ w).sin().sum().backward()
        between = x.grad.clone()
        (x * w).cos().sum().backward()
        return between

    same(step, leaves)


def test_a_way_that_branches_behind_the_pass():
    def step(n, x, w):
        x.grad = w.grad = None
        (x @ w).sin().sum().backward()
        return x.grad * 2 if n % 2 else x.grad.sum(0)

    same(step, leaves, 10)


def test_views_and_pieces():
    def step(n, x, w):
        x.grad = w.grad = None
        a, b = (x @ w).chunk(2, -1)
        y = torch.cat([-b, a], -1) + x.t().reshape(4, 4) + w.expand(2, 4, 4).sum(0) + x[1:3].mean()
        y.sin().sum().backward()
        return y.detach()

    same(step, leaves)


def test_gradients_that_lie_otherwise():
    def step(n, x, w):
        x.grad = w.grad = None
        (x.t() * w).sum(0).sum().backward()
        return x.grad + w.grad

    same(step, lambda: [leaves()[0].detach().t().requires_grad_(), leaves()[1]])


def test_shared_leaves_and_unused_ones():
    def step(n, x, w, u):
        x.grad = w.grad = None
        h = x
        for _ in range(3):
            h = (h @ w).tanh()
        if n == 4:
            h = h + u
        h.sum().backward()
        return h.detach()

    same(step, lambda: leaves(3), 8)


def test_autocast_and_modes_between():
    def step(n, x, w):
        x.grad = w.grad = None
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=n % 2 == 1):
            y = (x @ w).float().sin().sum()
        y.backward()
        return x.grad.clone()

    same(step, leaves, 8)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        self.batch_norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 11, bias=False)

    def forward(self, ids):
        h = self.embed(ids)
        h = h + self.attend(self.norm(h), self.norm(h), self.norm(h), need_weights=False)[0]
        h = nn.functional.gelu(self.batch_norm(self.conv(h.transpose(1, 2)))).transpose(1, 2) + h
        return self.head(h)


def losses_and_parameters(optimizer, clip, compiled):
    torch.manual_seed(0)
    model = Model()
    step_with = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    ids = torch.randint(0, 11, (3, 5))

    def step():
        step_with.zero_grad()
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.roll(1).flatten())
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        step_with.step()
        return loss.detach()

    run = torch.compile(step, backend="eager") if compiled else step
    return [float(run()) for _ in range(8)] + list(model.parameters())


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize("clip", [False, True])
def test_a_model_trains(optimizer, clip):
    expected = losses_and_parameters(optimizer, clip, False)
    before = backwards()
    torch.testing.assert_close(losses_and_parameters(optimizer, clip, True), expected, rtol=0, atol=0)
    assert backwards() - before == 6
