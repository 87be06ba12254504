"""Compiled functions that run as graphs, with tensors of several sizes."""

import itertools

from compiled_checks import some, status

import shim_torch as torch


def graphs_of_sizes():
    """Each size that comes again is a graph, without a new way; what one gave stays as it was while others are replayed."""

    def f(x, y):
        a = (x * y).cumsum(0) * 2
        return (a.cumsum(1) @ y.t()).sin() + 1, a.sum(-1)

    compiled = torch.compile(f, mode="reduce-overhead")
    side = torch.cuda.Stream()
    held, learned = {}, set()
    for i in range(8):
        for n in (3, 7, 5):
            x, y = some(n, 8), some(n, 8)
            with torch.cuda.stream(side if (i + n) % 2 else torch.cuda.current_stream()):
                got = compiled(x, y)
                for a, b in zip(got, f(x, y), strict=True):
                    torch.testing.assert_close(a.cpu(), b.cpu())
                for m, (other, kept) in held.items():
                    if m != n:
                        torch.testing.assert_close(other.cpu(), kept)
                held[n] = (got[0], got[0].cpu())
            learned.add(status()["learned"])
    assert len(learned) == 1, learned
    assert status()["graphs"] == {"plain": 8, "captured": 3, "replayed": 12}, status()["graphs"]


def memory_of_sizes():
    """Graphs of several sizes have the memory in common that they need only while they run, and results of their own."""

    def f(x):
        return (x * x.t()).cumsum(0).cumsum(1).cumsum(0).sum(0)

    compiled = torch.compile(f, mode="reduce-overhead")
    reserved = []
    for n in (1024, 700, 900):
        x = some(n, 1)
        for _ in range(5):
            got = compiled(x)
        torch.testing.assert_close(got.cpu(), f(x).cpu(), rtol=1e-3, atol=1e-2)
        torch.cuda.empty_cache()
        reserved.append(torch.cuda.memory_reserved())
    results = 2 << 20  # the least that is had from the driver, for the sums
    assert reserved[0] > 2 * results and {b - a for a, b in itertools.pairwise(reserved)} == {results}, reserved
    assert status()["graphs"]["captured"] == 3, status()["graphs"]


def results_of_sizes():
    """What one graph gave does not lie where another, captured before it, has what it needs only while it runs."""

    def f(x, w):
        return (((x * 2) @ w).relu() + 1) @ w @ w

    compiled = torch.compile(f, mode="reduce-overhead")
    w = torch.eye(16).cuda()
    inputs = [some(n, 16) for n in (60, 64, 70)]
    for x in inputs:
        for _ in range(5):
            compiled(x, w)
    for first, second in itertools.permutations(inputs, 2):
        got = compiled(first, w)
        compiled(second, w)
        torch.testing.assert_close(got.cpu(), f(first, w).cpu())
    assert status()["graphs"]["captured"] == 3, status()["graphs"]


def graphs_by_name():
    """``backend="cudagraphs"``, as a name and as what ``lookup_backend`` gives for it."""
    f = lambda x: (x * 2).cumsum(0)
    compiled = torch.compile(f, backend="cudagraphs")
    module = torch.fx.symbolic_trace(f)
    looked_up = torch._dynamo.lookup_backend("cudagraphs")(module, [some(4)])
    for captured, run in enumerate((compiled, looked_up), 1):
        for _ in range(5):
            x = some(4)
            torch.testing.assert_close(run(x).cpu(), f(x).cpu())
        assert status()["graphs"]["captured"] == captured, status()["graphs"]
