"""Launches of Triton kernels in compiled functions: those that run at once, backends of the user's, and functions at random."""

import os
import sys

import numpy as np
from triton import knobs
from triton_compiled import by_number, combine, counted, double, doubled, same, scaled, some, status, torch, triton


def at_once():
    """What stock Triton launches, or what may write anywhere, is done when it is called, and counted."""
    seen = []

    def f(x):
        double(x)
        seen.append(x._version)
        return x + 1

    g = torch.compile(f)
    for _ in range(3):
        x = some(20)
        same(g(x), x + 1)
    knobs.runtime.launch_enter_hook.add(seen.append)
    seen.clear()
    got, told = counted(g, (x,), "at_once")
    knobs.runtime.launch_enter_hook.remove(seen.append)
    same(got, x + 1)
    assert told >= (1,) and len(seen) == 2, (told, seen)
    x = some(20)
    got, told = counted(g, (x,), "at_once")
    same(got, x + 1)
    assert told == (0,)
    x = some(16)
    address = x.data_ptr()

    def raw(y):
        by_number[(1,)](address, 16, BLOCK=16)
        return double(y + 1)

    g = torch.compile(raw)
    for _ in range(4):
        before, y = x.clone(), some(20)
        same(g(y), (y + 1) * 2)
        same(x, before + 1)
    why = {why for name, why in status()["at_once_because"] if name.startswith("triton::by_number")}
    assert why == {"a Triton kernel makes addresses of numbers"}, status()["at_once_because"]


def tuned():
    """The launches that an autotuner measures are none of the function's."""
    configs = [triton.Config({"BLOCK": b}) for b in (32, 64)]
    tuner = triton.autotune(configs=configs, key=["n"])(doubled)

    def f(x):
        y = x + 1
        tuner[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](y, y.numel())
        return y * 3

    g = torch.compile(f)
    _, told = counted(g, (some(70),), "learned")
    assert told == (3,), (told, status())
    for _ in range(3):
        x = some(70)
        got, told = counted(g, (x,), "learned", "programs")
        same(got, (x + 1) * 2 * 3)
        assert told == (0, 1), told


def backends():
    """Functions of the user's get launches as operators."""

    def f(x, y):
        return combine(x + 1, y) * 2

    seen = []

    def backend(module, inputs):
        seen.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return module.forward

    g = torch.compile(f, backend=backend)
    for _ in range(3):
        x, y = some(30), some(30)
        same(g(x, y), f(x, y))
    assert sum("triton.scaled" in name for name in seen[-1]) == 1 and len(seen[-1]) == 3, seen
    told = torch._dynamo.explain(f)(x, y)
    assert told.graph_count == 1 and not told.break_reasons, told


@torch.library.custom_op("triton_checks::combined", mutates_args={"state"})
def combined(x: torch.Tensor, y: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    doubled[(1,)](state, state.numel(), BLOCK=64)
    return combine(x, y * 2)


@torch.library.triton_op("triton_checks::turned", mutates_args=())
def turned(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(scaled)[(1,)](x, y, out, x.numel(), -1.0, BLOCK=64)
    return out


turned.register_autograd(lambda ctx, g: (turned(g, torch.zeros_like(g)), g * 1))


def libraries():
    """Operators that a library makes of launches are these launches: one program with what is around them."""

    def f(x, y, state):
        z = combined(x + 1, y, state)
        return turned(z, state).relu() - y

    def trained(x, y):
        x.grad = None
        loss = (turned(x * 2, y) ** 2).sum()
        loss.backward()
        return loss.detach(), x.grad.clone()

    g, trains = torch.compile(f), torch.compile(trained)
    for i in range(4):
        x, y, state = some(40), some(40), some(40)
        other = state.clone()
        got, told = counted(g, (x, y, state), "programs", "at_once")
        same(got, f(x, y, other))
        same(state, other)
        assert not i or told == (1, 0), (told, status())
        x.requires_grad_()
        for a, b in zip(trains(x, y), trained(x, y), strict=True):
            torch.testing.assert_close(a.cpu(), b.cpu())


def random_functions():
    """Operators and launches in any order, over memory that they share."""
    for seed in range(int(os.environ.get("SEEDS", "40"))):
        rng = np.random.default_rng(seed)
        steps = [
            (rng.integers(7), rng.integers(9), rng.integers(9), rng.integers(4)) for _ in range(rng.integers(3, 14))
        ]

        def f(x, y, s, steps=steps):
            pool = [x, y, x[4:20], y[1:17]]
            for what, a, b, number in steps:
                a, b = pool[a % len(pool)], pool[b % len(pool)]
                n = min(a.numel(), b.numel())
                if what == 0:
                    pool.append(combine(a[:n], b[:n], s * number))
                elif what == 1:
                    double(a)
                elif what == 2:
                    pool.append((a[:n] - b[:n]).clamp(-3, 3))
                elif what == 3:
                    a.mul_(0.25 + number / 8)
                elif what == 4:
                    pool.append(a[number : number + 8])
                elif what == 5:
                    scaled[(1,)](a, b, a, n, 0.5, BLOCK=64)
                elif number == 3 and a.sum().item() > 0:
                    pool.append(a.clone())
            return [p.clone() for p in pool]

        modes = [{}, {"backend": "eager"}, {"mode": "reduce-overhead"}, {"dynamic": False}]
        g = torch.compile(f, **modes[seed % 4])
        for i in range(6):
            x, y = some(24), some(24)
            others = x.clone(), y.clone()
            for got, want in zip(g(x, y, 0.5 + i), f(*others, 0.5 + i), strict=True):
                torch.testing.assert_close(got.cpu(), want.cpu(), msg=lambda m: f"seed {seed}: {m}")  # noqa: B023
            torch.testing.assert_close(x.cpu(), others[0].cpu())
            torch.testing.assert_close(y.cpu(), others[1].cpu())


if __name__ == "__main__":
    for part in sys.argv[1:]:
        globals()[part]()
        torch.compiler.reset()
    print("ok")
