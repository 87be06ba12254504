"""Calls whose Python does not run again: of which functions, and that nothing which may change is missed."""

from __future__ import annotations

import random

import pytest
from whole_calls import is_whole, known, product_of_one_dim, same

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.compile import straight

FACTOR = 2.0
CALLS = []


def _sum(x, y):
    return x + y


def _gated(x, y):
    return F.silu(x) * y


def _norm(x, y, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * y


def _halves(x, y):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1), y * 2


def _loop(x, y):
    for _ in range(3):
        x = x * y if x.dim() > 1 else x + y
    return x


def _by_helper(x, y):
    return _sum(_gated(x, y), x)


def _by_global(x, y):
    return x * FACTOR + y


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("function", [_sum, _gated, _norm, _halves, _loop, _by_helper, _by_global])
def test_python_is_skipped(function, fullgraph):
    x, y = torch.randn(3, 8), torch.randn(3, 8)
    compiled = known(function, x, y, fullgraph=fullgraph)
    assert is_whole(compiled, x, y)
    for _ in range(3):
        x, y = torch.randn(3, 8), torch.randn(3, 8)
        same(compiled, function, x, y)
    assert is_whole(compiled, x, y)


def test_results_are_tensors_of_their_own():
    x = torch.ones(3)
    compiled = known(_sum, x, x)
    first, second = compiled(x, x), compiled(x, x)
    first.add_(5)
    assert second.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
    assert first._version == 1 and second._version == 0 and second.grad_fn is None


def _counts(x):
    CALLS.append(1)
    return x * 2


def _prints(x):
    print("called")
    return x * 2


def _drawn(x):
    return x + torch.rand(3)


def _python_drawn(x):
    return x * random.random()


def _written(x):
    x.mul_(2)
    return x + 1


def _squeezed(x):
    return x.unsqueeze_(0) * 2


def _given_back(x):
    return x.contiguous()


def _viewed(x):
    return (x * 2).view(-1)


def _read(x):
    return x * x.sum().item()


def _reads_gradient(x):
    return x * 2 if x.grad is None else x * 3


def _made_by(factor):
    def scaled(x):
        return torch.relu(x) * factor

    def take(other):
        nonlocal factor
        factor = other

    return scaled, take


def _by_list(factors=(2.0,)):
    held = list(factors)
    return lambda x: x * held[0]


@pytest.mark.parametrize(
    "function",
    [_counts, _prints, _drawn, _python_drawn, _written, _squeezed, _given_back, _read, _reads_gradient, _by_list()],
)
def test_python_runs(function):
    compiled = known(function, torch.ones(3))
    assert not is_whole(compiled, torch.ones(3))
    CALLS.clear()
    if "drawn" not in function.__name__:
        same(compiled, function, torch.full((3,), 2.0))
    assert len(CALLS) == (2 if function is _counts else 0)


def test_views_of_results_are_as_they_are():
    x = torch.randn(2, 3)
    same(known(_viewed, x), _viewed, x)


def test_a_name_that_stands_for_another_function(monkeypatch):
    x = torch.randn(3)
    compiled = known(_by_helper, x, x)
    monkeypatch.setitem(globals(), "_gated", lambda x, y: x - y)
    assert compiled(x, x).tolist() == x.tolist()
    monkeypatch.undo()
    same(compiled, _by_helper, x, x)  # looks at the names again
    assert is_whole(compiled, x, x)


def test_a_variable_of_the_function_around():
    x = torch.ones(3)
    scaled, take = _made_by(2.0)
    compiled = known(scaled, x)
    assert is_whole(compiled, x)
    take(3.0)
    assert compiled(x).tolist() == [3, 3, 3]


WEIGHT = torch.ones(3)


def _by_weight(x):
    return x * WEIGHT


def test_tensors_that_names_stand_for(monkeypatch):
    x = torch.ones(3)
    compiled = known(_by_weight, x)
    WEIGHT.fill_(2)
    assert is_whole(compiled, x) and compiled(x).tolist() == [2, 2, 2]
    WEIGHT.data = torch.full((2, 3), 3.0)
    assert compiled(x).tolist() == [[3, 3, 3]] * 2
    monkeypatch.setitem(globals(), "WEIGHT", torch.full((3,), 4.0))
    assert compiled(x).tolist() == [4, 4, 4]
    for _ in range(3):
        compiled(x)
    assert is_whole(compiled, x)
    WEIGHT.requires_grad_()
    assert compiled(x).requires_grad


def test_code_and_defaults_that_are_others(monkeypatch):
    x = torch.randn(3)
    compiled = known(_norm, x, x)
    monkeypatch.setattr(_norm, "__defaults__", (1.0,))
    same(compiled, _norm, x, x)
    monkeypatch.setattr(_sum, "__code__", (lambda x, y: x - y).__code__)
    summed = known(_by_helper, x, x)
    monkeypatch.undo()
    same(summed, _by_helper, x, x)


def test_defaults_by_name_that_are_written_to():
    def shifted(x, *, by=2.0, plus=1.0):
        return x * by + plus

    x = torch.ones(3)
    compiled = known(shifted, x)
    assert is_whole(compiled, x)
    shifted.__kwdefaults__["plus"] = 5.0
    assert compiled(x).tolist() == [7, 7, 7]
    del shifted.__kwdefaults__["by"]
    with pytest.raises(TypeError, match="by"):
        compiled(x)


def test_an_operator_that_was_replaced(monkeypatch):
    x = torch.rand(3)
    compiled = known(_norm, x, x)
    monkeypatch.setattr(torch, "rsqrt", torch.sqrt)
    same(compiled, _norm, x, x)


def test_a_method_that_was_replaced(monkeypatch):
    x = torch.ones(3)
    compiled = known(product_of_one_dim, x)
    assert is_whole(compiled, x)
    monkeypatch.setattr(torch.Tensor, "mul", torch.Tensor.add)
    assert compiled(x).tolist() == [3, 3, 3]
    with pytest.raises(AssertionError):
        compiled(x.view(1, 3))


def test_numbers_and_keywords():
    x = torch.ones(3)
    compiled = known(_norm, x, x, 0.5)
    assert is_whole(compiled, x, x, 0.5)
    for call in (
        lambda f: f(x, x, 0.25),
        lambda f: f(x, y=x),
        lambda f: f(x, y=2 * x, eps=0.5),
        lambda f: f(y=3 * x, x=x),
    ):
        for _ in range(5):
            torch.testing.assert_close(call(compiled), call(_norm), rtol=0, atol=0)
    signed = known(_copied_sign, x, 0.0)
    assert signed(x, -0.0).tolist() == [-1, -1, -1]


def _copied_sign(x, number):
    return torch.copysign(x, number) * 1.0


def _row(x, i):
    return x.index_select(0, i) * 2


def test_errors_name_the_line():
    x, i = torch.ones(3), torch.tensor([1])
    compiled = known(_row, x, i)
    assert is_whole(compiled, x, i)
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([7]))
    assert compiled(x, i).tolist() == [2]


def test_what_was_forgotten_is_learned_again():
    x = torch.ones(3)
    compiled = known(_sum, x, x)
    torch.compiler.reset()
    assert not is_whole(compiled, x, x)
    for _ in range(3):
        compiled(x, x)
    assert is_whole(compiled, x, x)


def _by_module(x):
    return torch.nn.functional.gelu(x)


def test_what_a_function_reads():
    assert [len(read) for read in straight.reads(_by_module)] == [4, 3, 3, 3, 3]
    assert straight.reads(torch.relu) is None and straight.reads(_counts) is None
    assert straight.reads(lambda x: x.tolist()) is None
