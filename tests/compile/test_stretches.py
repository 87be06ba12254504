"""What does not end a stretch of deferred operators: views, casts and copies that give the tensor itself, caches that begin empty."""

from __future__ import annotations

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.compile.calls import counts


def stretches(function, make, calls=4):
    """How many stretches the last of some calls ran, after it was compared with the function's answer; and how many it learned."""
    compiled = torch.compile(function)
    for _ in range(calls):
        given = make()
        wanted = function(*given)
        before = counts["runs"], counts["learned"]
        got = compiled(*given)
        for a, b in zip(got, wanted, strict=True):
            assert a.stride() == b.stride()
            torch.testing.assert_close(a, b)
    return counts["runs"] - before[0], counts["learned"] - before[1]


def through_views(x):
    y = x * 2
    a = y.reshape(-1) + 1
    b = y.to(torch.float32).contiguous() * 3
    c = y.to("cpu").flatten(0, 1).narrow(0, 1, 3) - 1
    d = F.dropout(y, 0.5, training=False).chunk(2, 1)[1].squeeze() + y.expand(2, 2, 4).sum()
    return a, b, c, d, y.t().reshape(8) * 2, y.t().contiguous() + 1


def test_views_and_what_gives_the_tensor_itself():
    assert stretches(through_views, lambda: (torch.randn(2, 4),)) == (1, 0)


def test_a_copy_where_there_was_a_view():
    def f(x, turned):
        y = x * 2
        return (y.t() if turned else y).contiguous() + 1, (y.t() if turned else y).reshape(-1) * 3

    compiled = torch.compile(f)
    for i in range(8):
        x = torch.randn(3, 2)
        assert all(torch.equal(a, b) for a, b in zip(compiled(x, i % 3 == 2), f(x, i % 3 == 2), strict=True))


def test_writes_through_what_may_be_a_view():
    def f(x):
        y = x + 1
        y.reshape(-1)[0] = 7
        y.contiguous().mul_(2)
        y.t().contiguous().mul_(5)
        return y, x

    assert stretches(f, lambda: (torch.randn(3, 2),))[1] == 0


def test_a_cache_that_begins_empty():
    def f(cache, x):
        return (torch.cat([cache, x * 2], -1) + 1,)

    assert stretches(f, lambda: (torch.tensor([]), torch.randn(2, 64))) == (1, 0)


def test_results_of_numpy_are_deferred_on():
    def f(x):
        return (torch.kron(x, x).flip(0).roll(2, 0) * 2 + 1,)

    assert stretches(f, lambda: (torch.randn(8, 8),)) == (1, 0)


def test_the_second_call_is_the_first_again():
    def f(n):
        return (torch.arange(n, device="cpu") * 2, torch.zeros(n, pin_memory=False) + 1)

    assert stretches(f, lambda: (5,), calls=2) == (1, 0)


def test_a_norm_that_is_written_out():
    def f(x, w):
        y = x.float()
        return w * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    compiled = torch.compile(f)
    for n in (3, 3, 3, 40):
        x, w = torch.randn(n, 128), torch.randn(128)
        assert torch.equal(compiled(x, w), f(x, w))
    x, w = torch.randn(3, 128).bfloat16(), torch.randn(128).bfloat16()
    for _ in range(3):
        assert torch.allclose(compiled(x, w).float(), f(x, w).float(), rtol=2e-2)
    source = compiled._shim_compiled.source
    assert "fused_pow_mean_add_rsqrt_mul" in source and "torch.ops" not in source


def test_another_exponent_is_another_way():
    compiled = torch.compile(lambda x, n: x.pow(n) + n)
    x = torch.rand(5)
    for n in (2, 3, 0.5, 2.5, 2, 0.5, -1, -0.5) * 2:
        assert torch.equal(compiled(x, n), x.pow(n) + n)
