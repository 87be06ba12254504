"""Graphs of a million nodes: made, run, dropped, by another thread too. Values are known."""

from __future__ import annotations

import threading

from harness import count, main, resident

import shim_torch as torch


def chain(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A leaf, and itself after n additions."""
    leaf = torch.zeros((), dtype=torch.float64, requires_grad=True)
    out = leaf
    for _ in range(n):
        out = out + 1
    return leaf, out


def expect(found: object, wanted: object) -> None:
    """AssertionError where they differ."""
    if found != wanted:
        raise AssertionError(f"{found}, not {wanted}")


def long_chain(scale: float) -> str:
    n = count(scale, 10**6, 1000)
    leaf, out = chain(n)
    expect(out.item(), float(n))
    out.backward()
    expect(leaf.grad.item(), 1.0)
    return f"{n} nodes, one after the other"


def dropped(scale: float) -> str:
    n = count(scale, 10**6, 1000)
    chain(1000)
    before = resident()
    chain(n)
    grown = resident() - before
    if grown > 16 * n + (8 << 20):  # a node has some hundred bytes
        raise AssertionError(f"{grown / 2**20:.1f} MiB are left")
    return f"{n} nodes never run: {grown / 2**20:+.1f} MiB"


def dropped_elsewhere(scale: float) -> str:
    n, made = count(scale, 10**6, 1000), []
    made.append(chain(n))
    thread = threading.Thread(target=made.clear)
    thread.start()
    thread.join()
    expect(made, [])
    return f"{n} nodes dropped by another thread"


def wide(scale: float) -> str:
    n = count(scale, 10**6, 1000)
    leaf = torch.zeros((), dtype=torch.float64, requires_grad=True)
    torch.stack([leaf * 2 for _ in range(n)]).sum().backward()
    expect(leaf.grad.item(), 2.0 * n)
    return f"{n} nodes beside each other, into one gradient"


def lattice(scale: float) -> str:
    n = count(scale, 500_000, 500)
    leaf = torch.ones((), dtype=torch.float64, requires_grad=True)
    out = leaf
    for _ in range(n):
        out = (out + out) * 0.5  # two edges to the same node: 2 ** n paths
    out.backward()
    expect(leaf.grad.item(), 1.0)
    return f"{2 * n} nodes, two edges each"


def written(scale: float) -> str:
    n = count(scale, 10**6, 1000)
    leaf = torch.ones(4, dtype=torch.float64, requires_grad=True)
    out = leaf * 1
    for i in range(n):
        out[i % 4 : i % 4 + 1].add_(1)
    out.sum().backward()
    expect(leaf.grad.tolist(), [1.0] * 4)
    return f"{n} writes through views"


def second(scale: float) -> str:
    n = count(scale, 200_000, 500)
    leaf = torch.ones((), dtype=torch.float64, requires_grad=True)
    out = leaf * leaf
    for _ in range(n):
        out = out * 1
    (first,) = torch.autograd.grad(out, leaf, create_graph=True)
    expect([first.item(), *(t.item() for t in torch.autograd.grad(first, leaf))], [2.0, 2.0])
    return f"the gradient of a gradient through {n} nodes"


if __name__ == "__main__":
    functions = (long_chain, dropped, dropped_elsewhere, wide, lattice, written, second)
    main({f"graphs: {f.__name__.replace('_', ' ')}": f for f in functions})
