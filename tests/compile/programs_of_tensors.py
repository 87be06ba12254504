"""Programs of test_adversarial_programs.py about tensors: modes, random numbers, aliases, writes, hooks, subclasses, threads."""

from __future__ import annotations

import threading

from programs_of_objects import CASES as CASES
from programs_of_objects import case, x_of

import shim_torch as torch
import shim_torch.nn.functional as F


@case
def modes():
    calls = []

    def f(x):
        calls.append(1)
        n = len(calls)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=n % 2 == 0), torch.set_grad_enabled(n % 3 != 0):
            return x @ x.t(), F.linear(x, x), (x * 2).exp()

    return f, lambda i: (x_of().requires_grad_(i % 2 == 0),)


@case
def random_numbers():
    def f(x):
        first = torch.rand(3) + x
        state = torch.get_rng_state()
        second = F.dropout(x, 0.5)
        torch.set_rng_state(state)
        return first, second, torch.bernoulli(torch.sigmoid(x)), torch.randint(5, (2,)), x.clone().normal_()

    return f, lambda i: (x_of(3),)


@case
def aliases():
    def f(a, b):
        c = a * 2
        a.add_(1)
        b.mul_(3)
        return c, a + b + c, b * 1

    def arguments(i):
        base = torch.arange(8.0)
        return [
            (base[:4], base[4:]),
            (base[:4], base[:4]),
            (base[:4], base[2:6]),
            (base[::2], base[1::2]),
            (base[:4], base[:4].clone()),
        ][i % 5]

    return f, arguments


@case
def writes_through_views():
    def f(x):
        row = x[1]
        x.mul_(2)
        w = row + 1
        row.zero_()
        turned = x.t().contiguous()
        x.t()[0].add_(5)
        x[:, 1:3].copy_(x[:, 0:2])
        x[1:].add_(x[:-1])
        return w, turned, x.sum(0), row

    return f, lambda i: (x_of(),)


@case
def hooks_on_tensors():
    def f(x):
        y = x * 2
        if x.requires_grad:
            y.register_hook(lambda g: g * 10)
        z = (y * y).sum()
        if z.requires_grad:
            z.backward()
        return z.detach(), x.grad

    return f, lambda i: (x_of().requires_grad_(i % 3 != 0),)


class Doubled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result * 2 if func is torch.add else result


@case
def subclasses():
    def f(x, y):
        return torch.add(x, 1) * y, type(x * 2).__name__

    return f, lambda i: (x_of().as_subclass(Doubled) if i % 2 else x_of(), x_of())


@case
def functions_that_are_replaced():
    def f(x):
        x = x + 1
        old = torch.add
        torch.add = lambda a, b: old(a, b) * 2
        try:
            first = torch.add(x, 1)
        finally:
            torch.add = old
        return first, torch.add(x, 1)

    return f, lambda i: (x_of(),)


@case
def threads_within():
    def f(x):
        results = []
        thread = threading.Thread(target=lambda: results.append(x * 2 + 1))
        y = x * 3
        thread.start()
        thread.join()
        return results[0] + y

    return f, lambda i: (x_of(),)


@case
def compiled_within_compiled():
    inner = torch.compile(lambda x: (x * 2).relu() + 1)
    return lambda x: inner(x) * inner(x + 1), lambda i: (x_of(),)
