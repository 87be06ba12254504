"""Functions that the interpreter calls when memory goes, while a compiled function is traced or what it deferred runs."""

import weakref

import shim_torch as torch


def test_operators_as_what_was_deferred_lets_go():
    """They are deferred themselves, when the last of what was deferred has run."""
    made = []

    def gone():
        made.extend(torch.ones(7) + 1 for _ in range(300))

    def f(x):
        total = x
        for _ in range(6):
            t = torch.ones(4) * 1
            doubled = t * 2
            weakref.finalize(t.untyped_storage(), gone)
            total = total + t * doubled
            del t
            total = total + (x + 1)
        return total

    for _ in range(2):
        torch._dynamo.explain(f)(torch.ones(4))
    assert len(made) == 2 * 6 * 300
    assert all((t == 2).all() for t in made)


def test_operators_as_the_last_who_watched_lets_go():
    """A trace that says where values are read keeps memory until the next operator: then it is not through its list."""
    made = []

    def gone():
        made.extend(torch.rand(7) for _ in range(300))

    def f(x):
        for _ in range(6):
            t = torch.rand(4)
            weakref.finalize(t.untyped_storage(), gone)
            drawn = [torch.bernoulli(t) for _ in range(8)]
            assert all(((d == 0) | (d == 1)).all() for d in drawn)
            drawn = [torch.rand(1) for _ in range(30)]
            del t
            torch.rand(3)
        return x + 1

    for _ in range(3):
        torch._dynamo.explain(f)(torch.ones(4))
    assert len(made) == 3 * 6 * 300
    assert all(((t >= 0) & (t < 1)).all() for t in made)
