"""Losses of classes and mean pools under vmap: what each item gives by itself, and no call for each item."""

import pytest

import shim_torch as torch
from shim_torch._impl.transforms.batching import fallback

F = torch.nn.functional
vmap, grad = torch.func.vmap, torch.func.grad
TARGETS = [[0, 1, 2, 3], [4, -100, 1, 0], [2, 2, -100, 4]]


def _scores():
    return torch.linspace(-2, 2, 60).reshape(3, 4, 5).sin()


@pytest.fixture
def no_loop(monkeypatch):
    monkeypatch.setattr(fallback, "loops", False)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction, weighted, no_loop):
    weight = torch.linspace(0.1, 1, 5) if weighted else None
    x, targets = _scores(), torch.tensor(TARGETS)

    def loss(scores, target):
        return F.cross_entropy(scores, target, weight, reduction=reduction)

    torch.testing.assert_close(
        vmap(loss)(x, targets), torch.stack([loss(a, b) for a, b in zip(x, targets, strict=True)])
    )
    slope = grad(lambda a, b: loss(a, b).sum())
    torch.testing.assert_close(
        vmap(slope)(x, targets), torch.stack([slope(a, b) for a, b in zip(x, targets, strict=True)])
    )
    one = vmap(loss)(x[:, 0], targets[:, 0])
    torch.testing.assert_close(one, torch.stack([loss(a[0], b[0]) for a, b in zip(x, targets, strict=True)]))


def test_a_class_that_there_is_not():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        vmap(F.cross_entropy)(_scores(), torch.tensor(TARGETS) + 1)


@pytest.mark.parametrize("batch", [(), (1,)])
def test_gradients_of_mean_pools(batch):
    x = torch.linspace(-2, 2, 3 * 2 * 8 * 8).reshape(3, *batch, 2, 8, 8)
    for pool in (lambda t: F.avg_pool2d(t, 2), lambda t: F.adaptive_avg_pool2d(t, 3)):
        slope = grad(lambda t, pool=pool: (pool(t) ** 2).sum())
        torch.testing.assert_close(vmap(slope)(x), torch.stack([slope(t) for t in x]))
