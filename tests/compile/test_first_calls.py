"""First calls of much memory: operators are deferred before they ran once, and are one program."""

from __future__ import annotations

import copy

import pytest
import test_random_functions
from test_compiled_training import OPTIMIZERS, Language, language_batch

import shim_torch as torch
from shim_torch._impl.compile.calls import counts
from shim_torch._impl.native import _core
from shim_torch.nn import functional as F


@pytest.fixture
def _however_small():
    before = _core.trace_foreseen_from(0)
    yield
    _core.trace_foreseen_from(before)


def layers():
    parts = [(torch.nn.Linear(6, 6), torch.nn.LayerNorm(6), torch.nn.GELU()) for _ in range(2)]
    return torch.nn.Sequential(*sum(parts, ()), torch.nn.Linear(6, 11))


def images():
    nn = torch.nn
    block = (
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, 2),
        nn.BatchNorm2d(8),
        nn.MaxPool2d(2),
    )
    return nn.Sequential(*block, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 11))


BATCHES = {
    layers: lambda: (torch.randn(5, 6), torch.randint(0, 11, (5,))),
    images: lambda: (torch.randn(4, 3, 12, 12), torch.randint(0, 11, (4,))),
    Language: language_batch,
}


@pytest.mark.usefixtures("_however_small")
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", BATCHES)
def test_a_training_step_is_one_program(model, optimizer, fullgraph):
    torch.manual_seed(3)
    models = [model()]
    models.append(copy.deepcopy(models[0]))
    optimizers = [OPTIMIZERS[optimizer](m.parameters()) for m in models]

    def step(which, x, target):
        optimizers[which].zero_grad()
        loss = F.cross_entropy(models[which](x).flatten(0, -2), target.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(models[which].parameters(), 1.0)
        optimizers[which].step()
        return loss.detach()

    compiled = torch.compile(lambda x, target: step(1, x, target), fullgraph=fullgraph)
    for i in range(3):
        before = dict(counts)
        x, target = BATCHES[model]()
        torch.testing.assert_close(compiled(x, target), step(0, x, target))
        ran = {name: counts[name] - before.get(name, 0) for name in ("runs", "programs", "deferred")}
        if i == 0:
            assert ran["runs"] == ran["programs"] == 1 and ran["deferred"] > 40
        for p, q in zip(models[0].state_dict().values(), models[1].state_dict().values(), strict=True):
            torch.testing.assert_close(p, q)


def test_how_large_they_are():
    compiled = [torch.compile(lambda x: (x + 1).relu()) for _ in range(2)]
    deferred = []
    for f, n in zip(compiled, (2**18 - 1, 2**18), strict=True):  # of four bytes
        before = counts["deferred"]
        assert f(torch.zeros(n)).sum() == n
        deferred.append(counts["deferred"] - before)
    assert deferred == [0, 2]


@pytest.mark.usefixtures("_however_small")
def test_what_has_to_run_ends_it():
    """Where an operator runs that will be deferred later, what was deferred runs too, but is no program: the next one is longer."""
    x = torch.randn(4, 5)

    def program(x):
        y = (x * 2).relu()
        z = torch.linalg.cross(y[:, :3], y[:, 1:4])
        y += 1
        return z.sum(1) + 1, y

    compiled, wanted = torch.compile(program), program(x)
    for learns, programs in ((True, 0), (False, 1), (False, 1)):
        before = dict(counts)
        torch.testing.assert_close(compiled(x), wanted)
        assert (counts["learned"] > before.get("learned", 0)) == learns
        assert counts["programs"] - before.get("programs", 0) == programs
    (source,) = compiled._shim_compiled.source.strip().split("\n\n")
    assert "linalg_cross" in source


@pytest.mark.usefixtures("_however_small")
def test_errors_come_from_their_lines():
    def program(x):
        y = x * 2
        try:
            return F.silu(y)
        except NotImplementedError:
            return y.float() + 0.5

    assert torch.compile(program)(torch.arange(3)).tolist() == [0.5, 2.5, 4.5]

    def reads(x):
        y = x * 2
        return y + 1 if y.sum() > 0 else y - 1

    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(torch.compile(reads)(x), reads(x))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="reads the values of a tensor"):
        torch.compile(reads, fullgraph=True)(torch.ones(3))


@pytest.mark.usefixtures("_however_small")
def test_what_is_whole_without_a_history_has_its_parts_with_one():
    """A composite that was foreseen as one is called again, and is to record a history."""
    first = torch.tensor([0])

    def program(places, weight):
        at, chosen = places[first], weight[first]
        total = torch.zeros(2).index_add(0, at, chosen)
        (total * total).sum().backward()
        return chosen.requires_grad, weight.grad

    compiled = torch.compile(program)
    for _ in range(3):
        wants, gradient = compiled(torch.tensor([1]), torch.tensor([3.0]).requires_grad_())
        assert wants and gradient.tolist() == [6.0]


@pytest.mark.usefixtures("_however_small")
def test_reads_after_a_run_are_breaks():
    """Memory that what was deferred made is watched again once it ran."""

    def program(x):
        y = (x * 2).relu()
        view = y.contiguous()
        torch.poisson(y + 1)  # draws at once, so that what is deferred runs
        return view.tolist()

    with pytest.raises(torch._dynamo.exc.Unsupported, match="reads the values of a tensor"):
        torch.compile(program, fullgraph=True)(torch.ones(3))


@pytest.mark.usefixtures("_however_small")
def test_what_lies_otherwise_is_forgotten(monkeypatch):
    """An operator whose rule is wrong on how its result lies: values are right, and the next call learns how it lies."""
    from shim_torch._impl.table import meta

    x = torch.randn(2, 3, 4)

    def wrong(plan, i, bound, sizes, dtype, device):
        return _core.permute(_core.empty_raw((sizes[0], sizes[2], sizes[1]), dtype, device), (0, 2, 1))

    monkeypatch.setattr(meta, "empty_result", wrong)

    def program(x):
        return (x * 2).softmax(1)

    compiled, wanted = torch.compile(program), program(x)
    first = compiled(x)
    assert first.stride() != wanted.stride() and torch.equal(first, wanted)
    for learns in (True, False, False):
        before = counts["learned"]
        found = compiled(x)
        assert found.stride() == wanted.stride() and torch.equal(found, wanted)
        assert (counts["learned"] > before) == learns


@pytest.mark.usefixtures("_however_small")
@pytest.mark.parametrize("block", range(0, 20, 3))
def test_random_functions_from_the_first_call_on(block):
    test_random_functions.test_random_functions(block)
