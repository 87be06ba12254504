"""Programs of test_adversarial_programs.py about objects: modules, attributes, closures, caches, generators, exceptions."""

from __future__ import annotations

import contextlib
import functools

import shim_torch as torch
from shim_torch import nn

CASES = {}


def case(make):
    """``make()`` gives a function and what makes the arguments of its i-th call."""
    CASES[make.__name__] = make
    return make


def x_of(*shape):
    return torch.randn(*(shape or (3, 4)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.config = {"a": 2, "b": 3}

    def forward(self, x):
        x = self.drop(self.norm(self.linear(x)))
        for key, value in self.config.items():
            x = x * value if key == "a" else x + value
        return x


CHANGES = [
    lambda net: None,
    lambda net: None,
    lambda net: net.eval(),
    lambda net: setattr(net, "config", {"b": 3, "a": 2}),
    lambda net: net.train().register_forward_hook(lambda module, given, result: result * 2),
    lambda net: net.linear.register_forward_pre_hook(lambda module, given: (given[0] + 1,)),
    lambda net: net.config.pop("a"),
    lambda net: setattr(net.linear, "weight", nn.Parameter(torch.ones(4, 4))),
    lambda net: setattr(net.linear.weight, "data", torch.zeros(4, 4)),
    lambda net: setattr(net.norm, "momentum", None),
    lambda net: setattr(net.norm, "running_mean", torch.ones(4)),
    lambda net: setattr(net, "drop", nn.Identity()),
]


@case
def a_module_that_changes():
    torch.manual_seed(0)
    net = Net()

    def arguments(i):
        CHANGES[i % len(CHANGES)](net)
        return (x_of(),)

    return lambda x: (net(x), net.norm.running_mean.clone(), net.norm.num_batches_tracked.clone()), arguments


@case
def objects():
    class Holder:
        scale = 2

        @property
        def counted(self):
            seen.append(1)
            return len(seen)

        def __getattr__(self, name):
            return len(name)

    holder, seen = Holder(), []

    def arguments(i):
        if i == 3:
            Holder.scale = 5
        if i == 5:
            holder.other = 9
        return (x_of(),)

    return lambda x: x * holder.scale + holder.counted + holder.other, arguments


@case
def defaults_partials_and_caches():
    @functools.lru_cache
    def cached(n):
        made.append(n)
        return torch.full((4,), float(n))

    made = []

    def scaled(x, by=2.0, *, plus=1.0):
        return x * by + plus

    partial = functools.partial(scaled, plus=3.0)

    def arguments(i):
        if i == 3:
            scaled.__defaults__ = (7.0,)
        if i == 5:
            scaled.__kwdefaults__["plus"] = -1.0
        if i == 6:
            partial.keywords["plus"] = 11.0
        return x_of(), i % 3

    return lambda x, n: (scaled(x), partial(x) + cached(n), cached(n) * 1, len(made)), arguments


@case
def a_cached_tensor_that_is_written():
    @functools.lru_cache
    def cached(n):
        return torch.full((4,), float(n)).mul_(2)

    def f(x, n):
        kept = cached(n)
        x = x + kept
        kept.add_(1)
        return x

    return f, lambda i: (x_of(), i % 2)


@case
def generators():
    def old():
        i = 0
        while True:
            i += 1
            yield (torch.ones(4) * i).add_(1)

    def new(x):
        for _ in range(3):
            x = x * 2
            yield x

    numbers = old()

    def f(x):
        made = new(x)
        return next(numbers) + x, next(numbers) * x, next(made) + 1, [*made]

    return f, lambda i: (x_of(),)


@case
def tensors_that_are_kept():
    kept = []

    def f(x):
        kept.append(x * 2)
        if len(kept) > 2:
            kept[-2].add_(1)
        return sum(kept[-3:])

    return f, lambda i: (x_of(),)


@case
def exceptions():
    def f(x, i):
        y = x + 1
        try:
            y.mul_(3)
            if i % 2:
                raise KeyError
            y = y.reshape(5)
        except (KeyError, RuntimeError):
            y = y - 1
        finally:
            x.add_(1)
        with contextlib.suppress(IndexError):
            y = y[9 if i % 3 else 1]
        return y

    return f, lambda i: (x_of(), i)


@case
def recursion():
    def f(x, n):
        return f(x * 1.5, n - 1) + x if n else x

    return f, lambda i: (x_of(), i % 4)
