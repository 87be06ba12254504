"""What models of libraries do and what once ended a program: each call is one, and gives what the function as it is gives."""

import gc

import pytest
from whole_calls import is_whole, known

import shim_torch as torch
from shim_torch._impl.compile import calls

F = torch.nn.functional


def turned(x):
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1)


def attention_written_out(x, w):
    """Matrix products that a kernel takes whole, and others that it does not: parts of them."""
    q = (x @ w).view(2, 5, 2, 4).transpose(1, 2)
    scores = turned(q) @ q.transpose(-1, -2)
    return (scores.softmax(-1) @ q).sum()


def activation_in_place(x, w):
    return F.silu(F.batch_norm(x @ w, torch.zeros(8), torch.ones(8)), inplace=True).sum()


def overlapping_windows(x, w):
    return ((x @ w).as_strided((3, 4), (2, 1), 1) ** 2).sum()


def experts_of_tokens(x, w):
    ids = (x @ w).detach().mul(3).abs().long() // 2 % 4
    return torch.histc(ids.float(), bins=4, min=0, max=3).cumsum(0)


def filled_later(x, w):
    kept = torch.empty_like(x)
    kept[:3] = x[:3] * 2
    kept[3:] = 1
    return kept @ w


def written_by_out(x, w):
    made = x.new_empty(5, 8)
    torch.mm(x[:2], w, out=made[:2])
    torch.mm(x[2:], w, out=made[2:])
    return made.exp()


def with_gradients(function):
    def step(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        loss = function(x, w)
        loss.backward()
        return loss.detach(), x.grad, w.grad

    return step


PROGRAMS = {
    **{f.__name__: with_gradients(f) for f in (activation_in_place, overlapping_windows)},
    "attention_written_out": with_gradients(lambda x, w: attention_written_out(x.repeat(2, 1).view(2, 5, 8), w)),
    **{f.__name__: f for f in (experts_of_tokens, filled_later, written_by_out)},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_a_call(name):
    compiled = torch.compile(PROGRAMS[name])
    for seed in range(5):
        torch.manual_seed(seed)
        x, w = torch.randn(5, 8), torch.randn(8, 8)
        before = calls.counts["runs"]
        found = compiled(x, w)
        runs = calls.counts["runs"] - before
        torch.testing.assert_close(found, PROGRAMS[name](x, w))
        if seed > 1:
            assert runs == 1, runs


def test_what_may_fail_for_its_values_runs_at_once():
    def divided(x, y):
        return x.long() // y.long(), torch.histc(x, 4)

    compiled = torch.compile(divided)
    x = torch.arange(1.0, 7)
    for _ in range(3):
        torch.testing.assert_close(compiled(x, x), divided(x, x))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, x - 1)
    assert ("aten::histc", "it asks its tensors for their bounds") in calls.reasons


def test_zeros_that_nobody_else_has_are_temporaries():
    """Of the gradient of a slice; an argument that is filled stays what it is."""

    def step(x, y):
        y.fill_(3)
        z = (x * 2)[:, 4:].exp() * y
        z.sum().backward()
        return z.detach() + 1

    compiled = torch.compile(step)
    for seed in range(4):
        torch.manual_seed(seed)
        x, y = torch.randn(6, 9, requires_grad=True), torch.randn(6, 5)
        seen, found = y.view(30), []
        for f in (step, compiled):
            x.grad = None
            found.append((f(x, y), x.grad.clone()))
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b)
        assert (seen == 3).all()
    lines = compiled._shim_compiled.source.splitlines()
    filled = [
        result for line in lines if "fill_" in line or "zero_" in line for result in line.split(" = ")[0].split("], ")
    ]
    assert sum(result.strip().startswith("x") for result in filled) == 1 and len(filled) >= 2, filled


class _Again:
    """Garbage that only a collection finds, and that then calls the function."""

    def __init__(self, call):
        self.itself, self.call = self, call

    def __del__(self):
        self.call()


def test_a_finalizer_that_calls_the_function_while_results_are_made():
    namespace = {}
    exec(
        f"def f(x):\n    return {', '.join(f'x + {i}' for i in range(30))}", namespace
    )  # a tuple that is not kept for reuse
    x, gave = torch.ones(4), []
    compiled = known(namespace["f"], x)
    assert is_whole(compiled, x)
    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1)  # a collection with each object that is made
    try:
        for _ in range(50):
            _Again(lambda: gave.append(compiled(x + 1)))
            gave.append(compiled(x))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()  # those that grew old before they were garbage
    first = sorted(float(results[0][0]) for results in gave)
    assert first == [1.0] * 50 + [2.0] * 50
    assert all([float(r[0] - results[0][0]) for r in results] == list(range(30)) for results in gave)
