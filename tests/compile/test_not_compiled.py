"""Functions under ``torch.compiler.disable`` within compiled ones: their operators are deferred, and stay operators."""

import pytest

import shim_torch as torch
import shim_torch_proxy


def computed(x):
    return ((x * 1.1 + 0.3) * 0.7 - x).sigmoid() * 3.3


@torch.compiler.disable
def apart(x):
    assert not torch.compiler.is_compiling()
    return computed(x)


def around(x):
    y = apart(x + 1)
    return y * 2 + apart(y)


def status(*names):
    told = shim_torch_proxy.torch_proxy_status()["compile"]
    return [told.get(name, 0) for name in names]


def test_its_numbers_are_those_of_eager():
    alone, fused = torch.compile(lambda x: apart(x)), torch.compile(computed)
    x = torch.randn(1000, dtype=torch.bfloat16)
    for _ in range(3):
        assert torch.equal(alone(x), computed(x))
        got = fused(x)
    assert not torch.equal(got, computed(x))  # a group computes on with more digits


def test_it_is_part_of_the_program():
    compiled = torch.compile(around)
    for i in range(4):
        x = torch.randn(50)
        before = status("programs", "learned", "at_once")
        torch.testing.assert_close(compiled(x), around(x))
        after = status("programs", "learned", "at_once")
        assert not i or [b - a for a, b in zip(before, after, strict=True)] == [1, 0, 0]


def test_what_varies_runs_as_it_is_called():
    count = [0]

    @torch.compiler.disable
    def varies(x):
        count[0] += 1
        for _ in range(count[0] % 5):
            x = x + 1
        return x

    def f(x):
        return varies(x * 2) * 3

    compiled = torch.compile(f)
    for i in range(12):
        got = compiled(torch.ones(4))
        assert torch.equal(got, torch.full((4,), 3.0 * (2 + (i + 1) % 5)))
    before = status("learned", "deferred")
    compiled(torch.ones(4))
    after = status("learned", "deferred")
    assert after[0] == before[0] and after[1] > before[1]


def test_values_that_it_reads_are_no_break():
    @torch.compiler.disable
    def reads(x):
        return x + 1 if x.sum().item() > 0 else x - 1

    compiled = torch.compile(lambda x: reads(x * 2) * 3, fullgraph=True)
    for i in range(5):
        sign = 1 - 2 * (i % 2)
        assert torch.equal(compiled(torch.full((4,), float(sign))), torch.full((4,), 9.0 * sign))


def test_gradients():
    def f(x):
        x.grad = None
        loss = (around(x) ** 2).sum()
        loss.backward()
        return loss.detach(), x.grad.clone()

    compiled = torch.compile(f)
    for _ in range(4):
        x = torch.randn(50, requires_grad=True)
        for a, b in zip(compiled(x), f(x), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("stance", ["eager_on_recompile", "fail_on_recompile"])
def test_it_is_no_recompile(stance):
    calls = [0]

    @torch.compiler.disable
    def other(x):
        calls[0] += 1
        return x + 1 if calls[0] % 2 else x * 1 + 1

    compiled = torch.compile(lambda x: other(x * 2) * 3)
    for _ in range(3):
        compiled(torch.ones(3))
    with torch.compiler.set_stance(stance):
        for _ in range(4):
            assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 9.0))
