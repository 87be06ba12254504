"""Operators whose results, and gradients, are bitwise equal at one, two and four threads."""

from __future__ import annotations

from harness import main

import shim_torch as torch
from shim_torch.nn import functional

F = functional
# Products are small ones: NumPy's BLAS adds in another order at another number of threads where more than some 500 products are added.
# Each is called with a 700 x 600 tensor and one of the same size beside it: more than one thread's piece.
OPERATORS = {
    "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "div": lambda x, y: x / (y.abs() + 1), "exp": lambda x, y: x.exp(),
    "log": lambda x, y: x.abs().add(1).log(), "tanh": lambda x, y: x.tanh(), "sigmoid": lambda x, y: x.sigmoid(),
    "erf": lambda x, y: x.erf(), "gelu": lambda x, y: F.gelu(x), "silu": lambda x, y: F.silu(x), "sum": lambda x, y: x.sum(),
    "sum 0": lambda x, y: x.sum(0), "sum 1": lambda x, y: x.sum(1), "mean": lambda x, y: x.mean(), "var": lambda x, y: x.var(0),
    "std": lambda x, y: x.std(), "norm": lambda x, y: x.norm(), "prod": lambda x, y: (1 + x * 1e-3).prod(1),
    "max": lambda x, y: x.max(1).values, "min": lambda x, y: x.min(0).values, "amax": lambda x, y: x.amax(),
    "softmax": lambda x, y: x.softmax(1), "log_softmax": lambda x, y: x.log_softmax(0), "logsumexp": lambda x, y: x.logsumexp(1),
    "cumsum": lambda x, y: x.cumsum(0), "cumprod": lambda x, y: (1 + x * 1e-3).cumprod(1), "sort": lambda x, y: x.sort(1).values,
    "topk": lambda x, y: x.topk(9, 0).values, "matmul": lambda x, y: x[:200, :256] @ y[:200, :256].mT, "mv": lambda x, y: x @ y[0],
    "bmm": lambda x, y: x.view(7, 100, 600) @ y.view(7, 600, 100), "linear": lambda x, y: F.linear(x[:200, :256], y[:200, :256]),
    "layer_norm": lambda x, y: F.layer_norm(x, (600,), y[0], y[1]), "rms_norm": lambda x, y: F.rms_norm(x, (600,), y[0]),
    "group_norm": lambda x, y: F.group_norm(x.view(7, 10, 6000), 5), "batch_norm": lambda x, y: F.batch_norm(x, None, None, y[0], training=True),
    "conv2d": lambda x, y: F.conv2d(x.view(7, 4, 150, 100), y.view(-1)[:72].view(2, 4, 3, 3)),
    "max_pool2d": lambda x, y: F.max_pool2d(x.view(7, 4, 150, 100), 3), "avg_pool2d": lambda x, y: F.avg_pool2d(x.view(7, 4, 150, 100), 3),
    "cross_entropy": lambda x, y: F.cross_entropy(x, torch.arange(700) % 600),
    "embedding": lambda x, y: F.embedding(torch.arange(5000) % 700, x), "index_add": lambda x, y: x.index_add(0, torch.arange(700) % 9, y),
}  # fmt: skip


def results(name: str, threads: int) -> list[bytes]:
    """The bytes of an operator's result and of its gradients."""
    torch.set_num_threads(threads)
    g = torch.Generator().manual_seed(7)
    x, y = (torch.randn(700, 600, generator=g).requires_grad_() for _ in range(2))
    out = OPERATORS[name](x, y)
    weights = torch.randn(out.shape, generator=g)
    found = torch.autograd.grad((out * weights).sum(), (x, y), allow_unused=True)
    return [t.detach().contiguous().numpy().tobytes() for t in (out, *found) if t is not None]


def equal(scale: float) -> str:
    """Compares all operators; names those that differ."""
    differ = []
    for name in OPERATORS:
        one = results(name, 1)
        differ += [f"{name} at {threads}" for threads in (2, 4) if results(name, threads) != one]
    if differ:
        raise AssertionError(f"not as at one thread: {', '.join(differ)}")
    return f"{len(OPERATORS)} operators and their gradients: the same bits at 1, 2 and 4 threads"


if __name__ == "__main__":
    main({"equal: operators": equal})
