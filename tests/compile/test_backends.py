"""Backends that are functions: they get what is deferred as a GraphModule, and what they give for it is called."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch._dynamo import exc
from shim_torch.fx import GraphModule


class Seen:
    """A backend that keeps what it is given."""

    def __init__(self):
        self.graphs, self.examples, self.calls = [], [], 0

    def __call__(self, module, examples):
        assert isinstance(module, GraphModule)
        self.graphs.append(module)
        self.examples.append(examples)

        def run(*args):
            self.calls += 1
            return module(*args)

        return run


def views(x, y):
    z = torch.split(x + y, 2)[1]
    x.t()[1:].mul_(2)
    return z * 3, torch.cat([x, y]).sum(0), torch.var_mean(x - y, 1), z.to(torch.float64).t()


def test_graphs_give_what_the_function_gives():
    seen = Seen()
    compiled = torch.compile(views, backend=seen)
    for i in range(4):
        x, y = torch.randn(4, 3), torch.randn(4, 3)
        other = x.clone()
        version = x._version
        got, wanted = compiled(x, y), views(other, y)
        for a, b in zip([*got[:2], *got[2], got[3]], [*wanted[:2], *wanted[2], wanted[3]], strict=True):
            assert torch.equal(a, b) and a.stride() == b.stride()
        assert torch.equal(x, other) and x._version - version == other._version
        assert seen.calls == i + 1 and len(seen.graphs) == 1  # it is asked at the first call
    (module,) = seen.graphs
    assert [tuple(e.shape) for e in seen.examples[0]] == [(4, 3), (4, 3)]
    targets = [n.target for n in module.graph.nodes if n.op == "call_function"]
    assert torch.ops.aten.add.Tensor in targets and torch.ops.aten.mul_.Tensor in targets
    assert "torch.ops.aten.cat.default" in module.code


def test_numbers_are_part_of_the_graph():
    compiled = torch.compile(lambda x, n: x * n, backend=Seen())
    for n in (2.0, 2.0, 3.0, 3.0, 2.0):
        assert compiled(torch.ones(2), n).tolist() == [n, n]


def test_training_steps():
    seen = Seen()
    first = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1))
    second = copy.deepcopy(first)
    for model, wrap in ((first, lambda f: f), (second, lambda f: torch.compile(f, backend=seen))):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run = wrap(step)
        torch.manual_seed(0)
        for _ in range(5):
            run(torch.randn(2, 3))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    assert seen.calls


def test_breaks_make_two_graphs():
    seen = Seen()

    def f(x):
        y = x * 2
        return y + y.sum().item()

    compiled = torch.compile(f, backend=seen)
    for _ in range(3):
        x = torch.randn(3)
        assert torch.equal(compiled(x), f(x))
    assert len(seen.graphs) >= 1 and seen.graphs[0].graph.output_node().args[0]


def test_what_a_backend_gives_is_looked_at():
    def fails(module, examples):
        raise ValueError("no")

    for backend, error, text in [
        (fails, exc.BackendCompilerFailed, "backend='fails' raised:\nValueError: no"),
        (lambda module, examples: 3, exc.BackendCompilerFailed, "which is no function"),
        (lambda module, examples: lambda *a: (), RuntimeError, "gave 0 tensors where its graph gives 1"),
        (lambda module, examples: lambda x: (x[:1],), RuntimeError, "another tensor than its graph gives"),
    ]:
        compiled = torch.compile(lambda x: x + 1, backend=backend)
        with pytest.raises(error, match=text):
            compiled(torch.ones(2))


def test_results_that_are_arguments_are_copied():
    compiled = torch.compile(lambda x: x * 1, backend=lambda module, examples: lambda x: (x,))
    x = torch.ones(2)
    got = compiled(x)
    x.zero_()
    assert got.tolist() == [1, 1]


def test_backends_by_name():
    from shim_torch._dynamo.testing import CompileCounter, CompileCounterWithBackend

    counter = CompileCounter()
    torch._dynamo.register_backend(counter, name="counts_its_graphs")
    with pytest.raises(AssertionError, match="duplicate name: counts_its_graphs"):
        torch._dynamo.register_backend(counter, name="counts_its_graphs")
    assert "counts_its_graphs" in torch._dynamo.list_backends()
    compiled = torch.compile(lambda x: (x + 1).relu(), backend="counts_its_graphs")
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert (counter.frame_count, counter.op_count) == (1, 2)
    for name in ("cudagraphs", "eager", "inductor", "counts_its_graphs"):
        other = CompileCounterWithBackend(name)
        compiled = torch.compile(lambda x: x.sin() * 2, backend=other)
        for _ in range(3):
            x = torch.randn(3)
            torch.testing.assert_close(compiled(x), x.sin() * 2)
        assert other.frame_count == len(other.graphs) == 1
    with pytest.raises(exc.InvalidBackend):
        torch._dynamo.lookup_backend("nope")


def test_counters_of_dynamo():
    from shim_torch._dynamo.utils import counters

    counters.clear()
    compiled = torch.compile(lambda x: (x + 1) * (x * 2).sum().item())
    for _ in range(3):
        compiled(torch.ones(2))
    assert counters["stats"]["calls_captured"] == 4 and counters["frames"] == {"total": 1, "ok": 1}
    assert counters["graph_break"]["reads the values of a tensor"] == 2  # at the calls that defer


def several(x, w):
    h = torch.softmax((x @ w).relu() * 0.5, -1)
    return h.t() + x.sum(), torch.cat([h, h * 2]), h.view(-1)[1:]


def test_sizes_are_arguments_from_the_second_on():
    seen = Seen()
    compiled = torch.compile(several, backend=seen)
    w = torch.randn(4, 3)
    for i, n in enumerate([2, 5, 3, 17, 2, *range(30, 70)]):  # more than are kept
        x = torch.randn(n, 4)
        for a, b in zip(compiled(x, w), several(x, w), strict=True):
            assert a.stride() == b.stride()
            torch.testing.assert_close(a, b)
        assert len(seen.graphs) == min(i + 1, 2) and seen.calls == i + 1
    first, second = seen.examples
    assert [type(e) for e in first] == [torch.Tensor, torch.Tensor]
    assert second[0] == 5 and second[1].shape == (5, 4)  # one integer, wherever it stands
    assert [n.name for n in seen.graphs[1].graph.nodes if n.op == "placeholder"] == ["s0", "arg0_1", "arg1_1"]


def test_sizes_that_were_equal_until_now():
    def joined(x, y):
        return torch.cat([x * 2, y.reshape(-1)]), y.t() + 1

    seen = Seen()
    compiled = torch.compile(joined, backend=seen)
    for n, m, graphs in ((2, 2, 1), (5, 5, 2), (3, 3, 2), (4, 7, 3), (6, 6, 3), (7, 2, 3)):
        x, y = torch.randn(n), torch.randn(m, 4)
        for a, b in zip(compiled(x, y), joined(x, y), strict=True):
            assert torch.equal(a, b) and a.stride() == b.stride()
        assert len(seen.graphs) == graphs
    assert [sum(type(e) is int for e in examples) for examples in seen.examples] == [0, 2, 3]


def test_a_backend_is_asked_again_for_other_sizes_of_its_tensors():
    """Even where no operator of the graph has them: it may have looked at its examples."""
    seen = Seen()
    compiled = torch.compile(lambda x: x.sin() + 1, backend=seen)
    for n, graphs in ((2, 1), (3, 2), (4, 2), (2, 2)):
        assert torch.equal(compiled(torch.ones(n)), torch.ones(n).sin() + 1)
        assert len(seen.graphs) == graphs
    still = Seen()
    static = torch.compile(lambda x: x.sin() + 1, backend=still, dynamic=False)
    for n in (2, 3, 4, 2):
        static(torch.ones(n))
    assert len(still.graphs) == 3 and all(len(e) == 1 for e in still.examples)


def test_graphs_over_memory_of_complex_numbers():
    """It is seen as real numbers, with conjugate and negative bits, and from strided tensors too."""

    def turned(x, w):
        z = torch.view_as_complex(x.view(-1, 2))
        y = torch.polar(z.abs(), z.angle()) * w
        q = y.conj()
        y.imag.add_(1)
        return torch.view_as_real(y).flatten(), (q * y).real, q.imag + 1, torch.view_as_real(q.resolve_conj())

    def strided(z):
        return z.real * 2, z.conj().imag + 1, z.t() * 1j

    z = torch.randn(3, 4, dtype=torch.complex64)
    for f, *inputs in (
        (turned, torch.randn(8), torch.tensor(1 + 2j)),
        (strided, z),
        (strided, z.t()),
        (strided, z[:, 1::2]),
    ):
        compiled = torch.compile(f, backend=Seen())
        for _ in range(3):
            for a, b in zip(compiled(*inputs), f(*inputs), strict=True):
                assert torch.allclose(a, b) and a.stride() == b.stride() and a.is_neg() == b.is_neg()
