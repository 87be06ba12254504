"""Programs of eight threads: each thread's answer is, to the last bit, what it computes alone."""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
import sys
import threading
from collections.abc import Callable

from harness import count, main

import shim_torch as torch
from shim_torch.nn import functional

THREADS = 8
Work = Callable[[torch.Generator], list[torch.Tensor]]


def alone_and_together(work: Work, full: int, scale: float) -> str:
    """Runs ``work`` so many times for each seed, in one thread and then in eight at once, and compares."""
    rounds, answers = count(scale, full), {}

    def thread(seed: int) -> None:
        try:
            generator, digest = torch.Generator().manual_seed(seed), hashlib.sha256()
            for _ in range(rounds):
                for tensor in work(generator):
                    digest.update(tensor.detach().contiguous().numpy().tobytes())
            answers[seed] = digest.hexdigest()
        except Exception as e:
            answers[seed] = f"{type(e).__name__}: {e}"

    for seed in range(THREADS):
        thread(seed)
    alone, answers = dict(answers), {}
    threads = [threading.Thread(target=thread, args=(seed,)) for seed in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wrong = {seed: answer for seed, answer in answers.items() if answer != alone[seed] or " " in answer}
    if wrong or len(answers) != THREADS:
        raise AssertionError(f"threads {sorted(wrong)} differ: {wrong}")
    return f"{THREADS} threads x {rounds} rounds, as alone"


def arithmetic(g):
    x, y = torch.randn(64, 64, generator=g), torch.randn(64, 64, generator=g)
    return [x + y, x * y - 2, (x / (y.abs() + 1)).exp(), torch.where(x > y, x, y), x.clamp(-1, 1).sigmoid()]


def gradients(g):
    w = torch.randn(32, 32, generator=g).requires_grad_()
    y = torch.tanh(torch.randn(40, 32, generator=g) @ w).softmax(-1)
    return [*torch.autograd.grad((y * y).sum(), w), y]


def second_gradients(g):
    x = torch.randn(20, generator=g, dtype=torch.float64).requires_grad_()
    (first,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    return [first, *torch.autograd.grad(first.pow(2).sum(), x)]


def in_place(g):
    x = torch.randn(30, 30, generator=g)
    y = x.clone().requires_grad_()
    z = y * 2
    z[3:7].mul_(3).add_(1)
    z.sum().backward()
    return [y.grad, x.add_(1).mul_(0.5), x.view(-1)[::2].zero_()]


def views(g):
    x = torch.randn(4, 6, 8, generator=g)
    return [x.permute(2, 0, 1).contiguous(), x.unfold(2, 3, 2) + 1, x.transpose(0, 2)[1:, ::2], *x.chunk(3, 1)]


def dtypes(g):
    x = torch.randn(100, generator=g) * 50
    return [x.to(t).to(torch.float32) for t in (torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool)]


def orders(g):
    x = torch.randn(50, 40, generator=g)
    return [x.sort(-1).indices, x.topk(5).values, x.argmax(0), x.median(1).values, x.gt(0).nonzero()]


def sums(g):
    x = torch.randn(300, 300, generator=g)
    return [x.sum(), x.mean(0), x.var(1), x.cumsum(0), x.logsumexp(1), x.norm()]


def indices(g):
    x, i = torch.randn(50, 8, generator=g), torch.randint(0, 50, (70,), generator=g)
    return [x[i], x.index_add(0, i, x[i]), torch.zeros(50).scatter_add(0, i, torch.ones(70)), x[x > 0]]


def joins(g):
    x = [torch.randn(7, k, generator=g) for k in (1, 4, 9)]
    return [torch.cat(x, 1), torch.stack([x[1], x[1]]), *torch.cat(x, 1).split([3, 5, 6], 1)]


def algebra(g):
    x = torch.randn(12, 12, generator=g, dtype=torch.float64)
    a = x @ x.mT + 12 * torch.eye(12, dtype=torch.float64)
    return [torch.linalg.cholesky(a), torch.linalg.solve(a, x), torch.linalg.det(a)]


def convolutions(g):
    x, w = torch.randn(2, 3, 12, 12, generator=g), torch.randn(4, 3, 3, 3, generator=g).requires_grad_()
    y = functional.max_pool2d(functional.conv2d(x, w, padding=1).relu(), 2)
    return [y, *torch.autograd.grad(y.sum(), w)]


def training(g):
    weight, bias = torch.randn(5, 10, generator=g).mul_(0.1), torch.zeros(5)
    parameters = [torch.nn.Parameter(weight), torch.nn.Parameter(bias)]
    optimizer = torch.optim.AdamW(parameters, lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        out = functional.linear(torch.randn(16, 10, generator=g), *parameters)
        functional.cross_entropy(out, torch.randint(0, 5, (16,), generator=g)).backward()
        optimizer.step()
    return parameters


def saved(g):
    x, file = {"a": torch.randn(9, generator=g), "b": torch.arange(4)}, io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return [*torch.load(file).values(), pickle.loads(pickle.dumps(x["a"][2:]))]


class Cube(torch.autograd.Function):
    """Saves its input, and has a gradient in Python."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


def functions_and_hooks(g):
    x, seen = torch.randn(16, generator=g).requires_grad_(), []
    y = Cube.apply(x)
    y.register_hook(lambda grad: seen.append(grad * 2))
    y.sum().backward()
    return [x.grad, *seen]


def modes(g):
    x = torch.randn(8, 8, generator=g).requires_grad_()
    with torch.no_grad():
        quiet = x * 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = x @ x
    said = [
        quiet.requires_grad,
        half.dtype == torch.bfloat16,
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
    ]
    return [quiet, half.float(), torch.tensor(said)]


PROGRAMS = {
    "arithmetic": (arithmetic, 1000), "gradients": (gradients, 1000), "second gradients": (second_gradients, 1000),
    "in place": (in_place, 1000), "views": (views, 1000), "dtypes": (dtypes, 1000), "orders": (orders, 1000),
    "sums": (sums, 500), "indices": (indices, 1000), "joins": (joins, 1000), "linear algebra": (algebra, 1000),
    "convolutions": (convolutions, 500), "training": (training, 300), "saving": (saved, 500),
    "functions and hooks": (functions_and_hooks, 1000), "modes": (modes, 1000),
}  # fmt: skip

if __name__ == "__main__":
    torch.set_num_threads(4)
    sys.setswitchinterval(1e-5)  # threads take turns 500 times as often
    main({f"threads: {name}": functools.partial(alone_and_together, *p) for name, p in PROGRAMS.items()})
