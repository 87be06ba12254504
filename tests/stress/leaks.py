"""Loops of one kind of call: the process's memory is at the end what it was after the first tenth."""

from __future__ import annotations

import functools
import io
import weakref

from harness import Program, count, main, resident

import shim_torch as torch
from shim_torch.nn import functional

ALLOWED = 2 << 20  # bytes: what the allocators still move about; a leak of 16 bytes is 16 MB after a million rounds

x, y = torch.randn(8, 8), torch.randn(8, 8)
leaf = torch.randn(8, 8, requires_grad=True)
layer = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3, momentum=0.9)
index = torch.tensor([1, 3, 5])


class Square(torch.autograd.Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


def cycle() -> None:
    """A tensor that refers to itself, by an attribute and by its hook."""
    t = torch.ones(4, requires_grad=True) * 2
    t.me = t
    t.register_hook(lambda g: t)


def refused() -> None:
    """Errors from C++ with a tensor in their frames."""
    for wrong in (lambda: x @ torch.ones(3, 3), lambda: x.view(7), lambda: torch.ones(2)[5]):
        try:
            wrong()
        except (RuntimeError, IndexError):
            pass


def step() -> None:
    """A training step."""
    optimizer.zero_grad()
    layer(x).sum().backward()
    optimizer.step()


def saved() -> None:
    """To a file and back."""
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    torch.load(file)


def twice() -> None:
    """A gradient of a gradient."""
    (g,) = torch.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
    g.sum().backward(inputs=[leaf])


def weak() -> None:
    """A weak reference with a callback, and an attribute."""
    t = x * 2
    t.note = weakref.ref(t, id)


def hooks() -> None:
    """Put on and taken off."""
    t = leaf * 2
    handles = [t.register_hook(lambda g: g), leaf.register_hook(lambda g: g)]
    t.sum().backward()
    for h in handles:
        h.remove()


def unpacked() -> None:
    """Saved tensors go through Python."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        (leaf * leaf).sum().backward()


def quiet() -> None:
    """Without gradients, and in inference mode."""
    with torch.no_grad():
        leaf * 2
    with torch.inference_mode():
        leaf * 2


LOOPS = {  # what is called, and how often in the full run
    "empty": (lambda: torch.empty(10), 10**6), "zeros, large": (lambda: torch.zeros(300_000), 20_000),
    "add": (lambda: x + y, 10**6), "add a number": (lambda: x + 1.5, 10**6), "in place": (lambda: x.mul_(1), 10**6),
    "out=": (lambda: torch.add(x, 0, out=x), 500_000), "matmul": (lambda: x @ y, 10**6), "views": (lambda: x[1:, ::2].mT, 10**6),
    "indexing": (lambda: x[index], 500_000), "writing": (lambda: x.__setitem__(0, 1.0), 500_000), "masks": (lambda: x[x > 0], 200_000),
    "to NumPy and back": (lambda: torch.from_numpy(x.numpy()), 500_000), "DLPack": (lambda: torch.from_dlpack(x.__dlpack__()), 200_000),
    "from a list": (lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 200_000), "item and repr": (lambda: (x.sum().item(), repr(index)), 20_000),
    "casts": (lambda: x.to(torch.bfloat16).float(), 500_000), "sort": (lambda: x.sort(), 500_000), "cat and split": (lambda: torch.cat([x, y]).split(5), 200_000),
    "conv2d": (lambda: functional.conv2d(x.view(1, 1, 8, 8), y[None, None, :3, :3]), 200_000), "softmax": (lambda: x.softmax(-1), 500_000),
    "a graph dropped": (lambda: (leaf * 2).exp().sum(), 500_000), "backward": (lambda: (leaf * 2).exp().sum().backward(), 200_000),
    "second gradients": (twice, 50_000), "a Function of Python": (lambda: Square.apply(leaf).sum().backward(), 50_000), "hooks": (hooks, 50_000),
    "saved tensor hooks": (unpacked, 50_000), "modes": (quiet, 200_000), "cycles": (cycle, 50_000), "weak references": (weak, 200_000),
    "errors": (refused, 50_000), "a training step": (step, 20_000), "saving": (saved, 5_000),
}  # fmt: skip


def flat(call: Program, full: int, scale: float) -> str:
    """Calls it so often; AssertionError where memory grew after the first tenth."""
    rounds = count(scale, full, least=100)
    for _ in range(rounds // 10):
        call()
    leaf.grad, before = None, resident()
    for _ in range(rounds):
        call()
    leaf.grad = None
    grown = resident() - before
    if grown > ALLOWED:
        raise AssertionError(f"{grown / 2**20:.1f} MiB more after {rounds} rounds")
    return f"{rounds} rounds, {grown / 2**10:+.0f} KiB"


def a_leak_is_seen(scale: float) -> str:
    """What the other lines say would be worth nothing if this passed through ``flat``."""
    kept = []
    try:
        flat(lambda: kept.append(bytes(100_000)), 100, 1)
    except AssertionError as e:
        return f"told: {e}"
    raise AssertionError("a loop that keeps 10 MB was called flat")


if __name__ == "__main__":
    main(
        {f"leaks: {name}": functools.partial(flat, *loop) for name, loop in LOOPS.items()}
        | {"leaks: one is seen": a_leak_is_seen}
    )
