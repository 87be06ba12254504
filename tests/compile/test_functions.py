"""Compiled functions beside the same functions as they are: equal values, whatever changes between calls."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch._impl.compile.calls import counts
from shim_torch.nn import functional as F


def deferred(call):
    """What the call gives, and how many operators it deferred."""
    before = counts["deferred"]
    result = call()
    return result, counts["deferred"] - before


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b)
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def chain(x, y):
    z = F.softmax((x + y).relu() * 2.5, -1)
    return z @ x.t(), z.sum(1, keepdim=True), z.transpose(0, 1)[1:]


def in_place(x, y):
    z = x.clone()
    v = z[1:, ::2]
    v.mul_(3).add_(y[1:, ::2])
    z[0] = y[0]
    z.view(-1)[2:5].neg_()
    return z, v, z.sum()


def several(x, y):
    parts = x.split(2)
    top = torch.topk(x + y, 2)
    return torch.cat([*parts, y]), top.values, top.indices, torch.stack([x, y]).mean(0), (x - y).var(1)


@pytest.mark.parametrize("function", [chain, in_place, several])
def test_equal_and_deferred(function):
    compiled = torch.compile(function)
    for i in range(4):
        x, y = torch.randn(4, 6), torch.randn(4, 6)
        kept = x.clone(), y.clone()
        wanted = function(x.clone(), y.clone())
        got, n = deferred(lambda x=x, y=y: compiled(x, y))
        assert same(got, wanted) and (n > 0) == (i > 0)
        assert torch.equal(x, kept[0]) and torch.equal(y, kept[1])


def test_shapes_and_dtypes_change():
    compiled = torch.compile(chain)
    for shape, dtype in [((2, 3), "float32"), ((2, 3), "float64"), ((5, 4), "float32"), ((2, 3), "float32")] * 2:
        x, y = (torch.randn(shape, dtype=getattr(torch, dtype)) for _ in range(2))
        assert same(compiled(x, y), chain(x, y))
        assert same(compiled(x.t().contiguous().t(), y), chain(x.t().contiguous().t(), y))


def test_control_flow_on_values():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return (y - 1).exp()

    compiled = torch.compile(f)
    for i in range(6):
        x = torch.full((3,), (-1.0) ** i)
        got, n = deferred(lambda x=x: compiled(x))
        assert torch.equal(got, f(x)) and (n >= 4 or i < 2)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.scale, self.names, self.calls = 2.0, ["a"], 0

    def forward(self, x):
        self.calls += 1
        x = self.inner(x) * self.scale
        for _ in self.names:
            x = x.tanh() + OFFSET
        return x


OFFSET = 1.0


def test_what_python_reads_may_change(monkeypatch):
    model = Model()
    compiled = torch.compile(model)
    x = torch.randn(2, 4)

    def check():
        for _ in range(2):
            assert torch.equal(compiled(x), model(x))

    check()
    model.scale = 3.0
    check()
    model.names.append("b")
    check()
    monkeypatch.setitem(globals(), "OFFSET", 5.0)
    check()
    model.inner = torch.nn.Linear(4, 4)
    check()
    model.inner.weight.data.mul_(2)
    check()
    with torch.no_grad():
        model.inner.bias.add_(1)
    check()
    assert model.calls == 28


def test_numbers_are_parameters():
    def f(x, number, whole):
        return x * number + whole - (x / number)

    compiled = torch.compile(f)
    x = torch.randn(5)
    for i in range(5):
        got, n = deferred(lambda i=i: compiled(x, 0.5 + i, i))
        assert torch.equal(got, f(x, 0.5 + i, i)) and (n == 4 or i == 0)
    assert compiled(x.long(), 2, 3).dtype == f(x.long(), 2, 3).dtype


def test_arguments_that_share_memory():
    def f(a, b):
        c = a * 2
        a.add_(1)
        return c + b, b * 3

    compiled = torch.compile(f)
    for i in range(6):
        base = torch.arange(6.0)
        x = (base[:3], base[:3]) if i % 2 else (base[:3], torch.arange(3.0))
        other = base.clone()
        y = (other[:3], other[:3]) if i % 2 else (other[:3], torch.arange(3.0))
        assert same(compiled(*x), f(*y)) and torch.equal(base, other)


def test_objects_that_change_their_memory():
    def f(x):
        y = x + 1
        z = y * 2
        y.data = torch.zeros(3)
        w = y + z
        z.resize_(2)
        return w, z, y

    compiled = torch.compile(f)
    for _ in range(3):
        assert same(compiled(torch.arange(3.0)), f(torch.arange(3.0)))


@pytest.mark.parametrize("train", [True, False])
def test_random_numbers_come_in_order(train):
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Dropout(0.2))
    model.train(train)
    compiled = torch.compile(lambda x: model(x) + torch.rand_like(x))
    x = torch.randn(3, 6)
    for seed in range(3):
        torch.manual_seed(seed)
        got, after = compiled(x), torch.rand(2)
        torch.manual_seed(seed)
        assert torch.equal(got, model(x) + torch.rand_like(x)) and torch.equal(after, torch.rand(2))


def test_errors_leave_what_was_done():
    def f(x, i):
        y = x + 1
        x.mul_(2)
        y[i]
        raise ValueError("enough")

    compiled = torch.compile(f)
    for _ in range(3):
        x = torch.ones(3)
        with pytest.raises(ValueError, match="enough"):
            compiled(x, 1)
        assert torch.equal(x, torch.full((3,), 2.0))
        with pytest.raises(IndexError):
            compiled(x, 9)
        assert torch.equal(x, torch.full((3,), 4.0))


def test_default_dtype():
    compiled = torch.compile(lambda: torch.ones(2) / torch.arange(1, 3))
    for dtype in (torch.float32, torch.float64, torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            assert compiled().dtype == dtype
        finally:
            torch.set_default_dtype(torch.float32)


def test_default_dtype_changes_within():
    def f(x, read):
        y = x / 2
        torch.set_default_dtype(torch.float64)
        try:
            return (y.tolist(), x / 4) if read else (y, y + 1, x / 4)
        finally:
            torch.set_default_dtype(torch.float32)

    compiled = torch.compile(f)
    x = torch.arange(4)
    for read in (True, False):
        for _ in range(3):
            got, wanted = compiled(x, read), f(x, read)
            assert [a if read else a.dtype for a in got[:1]] == [a if read else a.dtype for a in wanted[:1]]
            assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(got, wanted, strict=True))


def test_a_number_that_is_stored_and_cast():
    def f(x):
        x.fill_(3)
        return x.long() + 1, F.silu(x), x.double(), x > 2

    compiled = torch.compile(f)
    for _ in range(3):
        assert same(compiled(torch.ones(4)), f(torch.ones(4)))


def test_versions_and_saved_tensors():
    def f(x):
        y = x.exp()
        y.add_(1)
        return y

    compiled = torch.compile(f)
    for _ in range(3):
        y = compiled(torch.ones(2))
        assert y._version == f(torch.ones(2))._version == 1
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            compiled(x).sum().backward()


def test_many_ways_run_as_they_are():
    compiled = torch.compile(lambda x: (x + 1) * 2, recompile_limit=3, dynamic=False)
    for n in range(1, 8):
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 4.0))
    assert deferred(lambda: compiled(torch.ones(2)))[1] == 2
    assert deferred(lambda: compiled(torch.ones(7)))[1] == 0


def test_copies():
    model = Model()
    compiled = torch.compile(model)
    x = torch.randn(2, 4)
    compiled(x), compiled(x)
    other = copy.deepcopy(compiled)
    other._orig_mod.inner.weight.data.zero_()
    assert torch.equal(other(x), other._orig_mod(x)) and not torch.equal(other(x), compiled(x))
