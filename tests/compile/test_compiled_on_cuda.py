"""Compiled functions on a GPU: as they are, deferred, and as CUDA graphs. What needs no GPU is in tests/native/test_simulated_cuda.py."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch._impl.compile import calls
from shim_torch.nn import functional as F

pytestmark = pytest.mark.devices("cuda")
MODES = ("default", "reduce-overhead")


def chain(x, y):
    z = F.softmax((x + y).relu() * 2.5, -1)
    return z @ x.t(), z.sum(1, keepdim=True), F.layer_norm(z, z.shape[-1:]).sigmoid()


@pytest.mark.parametrize("mode", MODES)
def test_values(device, mode):
    compiled = torch.compile(chain, mode=mode)
    x, y = torch.randn(64, 96, device=device), torch.randn(64, 96, device=device)
    before = calls.graphs["replayed"]
    for i in range(8):
        if i > 5:  # inputs that move
            x, y = x.clone(), y.clone()
        x.normal_()
        for a, b in zip(compiled(x, y), chain(x, y), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert (calls.graphs["replayed"] > before) == (mode == "reduce-overhead"), dict(calls.graphs)


def two_networks(device):
    layers = [torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 10)]
    first = torch.nn.Sequential(*layers).to(device)
    return first, copy.deepcopy(first)


def training_step(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize("mode", MODES)
def test_training(device, mode):
    torch.manual_seed(0)
    first, second = two_networks(device)
    labels = torch.randint(0, 10, (16,), device=device)
    losses = []
    for model, wrap in ((first, lambda f: f), (second, lambda f: torch.compile(f, mode=mode))):
        step = training_step(model)
        run = wrap(lambda x, step=step: step(x, labels))
        torch.manual_seed(1)
        losses.append([run(torch.randn(16, 32, device=device)).item() for _ in range(12)])
    torch.testing.assert_close(torch.tensor(losses[1]), torch.tensor(losses[0]), rtol=1e-4, atol=1e-5)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


def test_batches_of_several_sizes_are_graphs(device):
    torch.manual_seed(0)
    first, second = two_networks(device)
    before = {how: calls.graphs[how] for how in ("captured", "replayed")}
    learned = []
    losses = []
    for model, wrap in ((first, lambda f: f), (second, lambda f: torch.compile(f, mode="reduce-overhead"))):
        run = wrap(training_step(model))
        torch.manual_seed(1)
        told = []
        for i in range(36):
            n = (16, 48, 7)[i % 3]
            told.append(run(torch.randn(n, 32, device=device), torch.arange(n, device=device) % 10).item())
            learned.append(calls.counts["learned"])
        losses.append(told)
    torch.testing.assert_close(torch.tensor(losses[1]), torch.tensor(losses[0]), rtol=1e-4, atol=1e-5)
    assert len(set(learned[38:])) == 1, learned  # the first step makes the states
    graphs = {how: calls.graphs[how] - n for how, n in before.items()}
    assert graphs["captured"] >= 3 and graphs["replayed"] > 15, graphs


def test_overwritten_results(device):
    compiled = torch.compile(chain, mode="reduce-overhead")
    x, y = torch.randn(8, 8, device=device), torch.randn(8, 8, device=device)
    for _ in range(6):
        old = compiled(x, y)[0]
    kept = old.clone()
    new = compiled(x, y)[0]
    torch.testing.assert_close(new, kept)
    with pytest.raises(RuntimeError, match="output of CUDAGraphs that has been overwritten"):
        old.sum()


def test_streams_and_events(device):
    side = torch.cuda.Stream()

    def f(x):
        y = x * 2
        done = torch.cuda.Event()
        done.record()
        with torch.cuda.stream(side):
            side.wait_event(done)
            z = (y + 1).sum()
        torch.cuda.current_stream().wait_stream(side)
        return z * 2

    compiled = torch.compile(f)
    for _ in range(20):
        x = torch.randn(1 << 20, device=device)
        torch.testing.assert_close(compiled(x), f(x))


def test_within_a_capture(device):
    compiled = torch.compile(chain, mode="reduce-overhead")
    x, y = torch.randn(8, 8, device=device), torch.randn(8, 8, device=device)
    for _ in range(6):
        compiled(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = compiled(x, y)
    x.normal_()
    graph.replay()
    for a, b in zip(got, chain(x, y), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
