"""Compiled functions that run as graphs again before a backward pass has read what they gave."""

from compiled_checks import some, status

import shim_torch as torch

WHY = "backward passes are to come that read what its graphs gave"


def model():
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4), nn.Tanh()).cuda()


def beside(calls, rounds=9):
    """As many calls, then a pass over all, beside the model as it is."""
    compiled, plain = model(), model()
    run = torch.compile(compiled, mode="reduce-overhead")
    for i in range(rounds):
        data = [some(2, 4) for _ in range(calls)]
        for m, f in ((compiled, run), (plain, plain)):
            m.zero_grad()
            results = [f(x) for x in data]
            sum((k + 1) * y.pow(2).sum() for k, y in enumerate(results)).backward()
        for a, b in zip(compiled.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(a.grad.cpu(), b.grad.cpu(), msg=lambda text, i=i: f"round {i}: {text}")


def two_calls():
    beside(2)
    assert status()["graphs"]["captured"] == 2 and WHY not in status()["graphs"], status()["graphs"]


def many_calls():
    beside(6)
    counts = status()["graphs"]
    assert counts["captured"] == 4 and counts[WHY] > 0, counts


def without_a_pass():
    """Results with a history that nobody asks for: two graphs take turns."""
    run = torch.compile(model(), mode="reduce-overhead")
    for _ in range(12):
        result = run(some(2, 4))
    counts = status()["graphs"]
    assert counts["captured"] == 2 and counts["replayed"] >= 6 and WHY not in counts, counts
    assert result.requires_grad


def freed():
    """What a graph that is gone was to be kept for is no reason."""
    compiled = model()
    run = torch.compile(compiled, mode="reduce-overhead")
    for _ in range(6):
        run(some(2, 4)).sum().backward()
    assert status()["graphs"]["captured"] == 1, status()["graphs"]
    run(some(2, 4))  # its history goes with it
    for _ in range(3):
        run(some(2, 4)).sum().backward()
    assert status()["graphs"]["captured"] == 1, status()["graphs"]
