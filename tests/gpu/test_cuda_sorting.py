"""Sorts, selections, running joins, integer draws and copies on CUDA against the CPU's: sizes on both sides of every change of method."""

import math

import philox
import pytest
from kernel_checks import SORTED

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

WITH_BOOL = [*SORTED, torch.bool]


def values(shape, dtype, spread=40):
    """Whole numbers, so that there are ties; for floats with both zeros, both infinities and NaN where there is room."""
    x = (torch.randn(*shape, dtype=torch.float64) * spread).round()
    if dtype == torch.bool:
        return x > 0
    x = (x.abs() % 256 if dtype == torch.uint8 else x.clamp(-120, 120) if dtype == torch.int8 else x).to(dtype)
    if dtype.is_floating_point and x.numel() > 20:
        flat = x.view(-1)
        for at, value in ((3, math.nan), (7, -0.0), (9, 0.0), (11, math.inf), (12, -math.inf), (13, math.nan)):
            flat[at] = value
    return x


def equal(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0, equal_nan=True)


def check(shape, dtype, dim=-1, spread=40, counts=()):
    x = values(shape, dtype, spread)
    there = x.cuda()
    for descending in (False, True):
        want = x.sort(dim=dim, descending=descending, stable=True)
        got = there.sort(dim=dim, descending=descending, stable=True)
        equal(got.indices, want.indices)
        equal(got.values, want.values)
        for k in (
            counts if dtype != torch.bool else ()
        ):  # topk refuses truths; ties are resolved by place, as the stable sort does
            best = there.topk(k, dim, descending)
            equal(best.indices, want.indices.narrow(dim, 0, k).contiguous())
            equal(best.values, want.values.narrow(dim, 0, k).contiguous())


@pytest.mark.parametrize("dtype", WITH_BOOL)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 64, 100, 257, 600, 1024, 2048, 2049, 4096, 4097, 9001])
def test_sort_and_topk(dtype, n):
    check((3, n), dtype, counts={1, min(n, 7), min(n, 300), n})


@pytest.mark.parametrize("dtype", WITH_BOOL)
def test_sort_shapes(dtype):
    check((37, 20), dtype, counts=(2,))
    check((1001, 6), dtype)
    check((7, 6), dtype, dim=0)
    check((300, 5000), dtype, counts=(3,))
    check((200, 3), dtype, dim=0, counts=(5,))
    check((1 << 17,), dtype, spread=1e6, counts=(1, 50, 1000, 2000))
    check((16, 32000), dtype, spread=1e3, counts=(50,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_large_sorts(dtype):
    n = 3_000_001
    x = (torch.randn(n, dtype=torch.float64) * 1e12).to(dtype)
    got, want = x.cuda().sort(stable=True), x.sort(stable=True)
    equal(got.values, want.values)
    equal(got.indices, want.indices)
    equal(x.cuda().argsort(descending=True, stable=True), x.argsort(descending=True, stable=True))


def test_sorts_of_one_value_and_of_few_digits():
    for x in (torch.full((10000,), 5), torch.randint(0, 1000, (50000,)), torch.randint(0, 3, (50000,)) << 40):
        got, want = x.cuda().sort(stable=True), x.sort(stable=True)
        equal(got.values, want.values)
        equal(got.indices, want.indices)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.int32])
@pytest.mark.parametrize(
    "shape, dim",
    [((70,), 0), ((5, 513), 1), ((4, 9, 6), 1), ((20011,), 0), ((2, 30000), -1), ((3_000_001,), 0), ((4, 300_000), 1)],
)
def test_running_products_and_exponents(dtype, shape, dim):
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float64: 1e-10}.get(dtype, 0)
    x = (torch.randn(*shape, dtype=torch.float64) * 3).to(dtype)
    close = lambda a, b: torch.testing.assert_close(a.cpu().double(), b.double(), rtol=tolerance, atol=tolerance)
    if not dtype.is_floating_point:
        equal(x.cuda().cumprod(dim), x.cumprod(dim))
        equal(x.cuda().cumsum(dim), x.cumsum(dim))
        return
    near_one = (1 + x.double() / shape[dim] ** 0.5 / 10).to(dtype)
    if dtype == torch.float64 or shape[dim] < 100_000:  # narrower ones drift over millions of factors
        close(near_one.cuda().cumprod(dim), near_one.double().cumprod(dim))
    if x.numel() < 100_000:
        close(x.cuda().logcumsumexp(dim), x.double().logcumsumexp(dim))
    else:
        close(x.cuda().logcumsumexp(dim).narrow(dim, -1, 1), x.double().logsumexp(dim, keepdim=True))
    sums = x.cuda().cumsum(dim)
    scale = 1 + x.double().abs().cumsum(dim).sqrt()
    close(sums.cpu().double() / scale, x.double().cumsum(dim) / scale)


def test_running_joins_of_special_values():
    for x in ([1.0, -math.inf, math.inf, 2.0, math.nan, 3.0], [-math.inf] * 3, [math.inf, math.inf]):
        t = torch.tensor(x)
        for name in ("logcumsumexp", "cumsum", "cumprod"):
            torch.testing.assert_close(getattr(t.cuda(), name)(0).cpu(), getattr(t, name)(0), equal_nan=True)


def test_running_sums_are_the_same_in_every_run():
    x = torch.randn(1 << 22, device="cuda")
    first = x.cumsum(0)
    for _ in range(5):
        assert torch.equal(x.cumsum(0), first)
    assert x.cumsum(0)[-1].item() == pytest.approx(x.double().sum().item(), abs=1.0)


@pytest.mark.parametrize("span", [1, 1000, (1 << 28) - 1, 1 << 28, 1 << 40])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32])
def test_integer_draws_are_philoxs(span, dtype):
    if span > {torch.int64: 1 << 50, torch.int32: 1 << 30, torch.uint8: 200}.get(dtype, 1 << 20):
        return
    low = 0 if dtype == torch.uint8 else -5
    for n in (1, 3, 1003, 100_000):
        want = torch.from_numpy(philox.integers(n, n, low, span)).to(dtype)
        torch.manual_seed(n)
        equal(torch.randint(low, low + span, (n,), dtype=dtype, device="cuda"), want)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.int64, torch.complex128])
@pytest.mark.parametrize(
    "shape, order",
    [
        ((96, 130), (1, 0)),
        ((64, 128), (1, 0)),
        ((70, 65), (1, 0)),
        ((3, 40, 50), (0, 2, 1)),
        ((2, 20, 6, 34), (0, 2, 3, 1)),
        ((130, 4, 32), (2, 1, 0)),
        ((33, 17, 19), (1, 2, 0)),
        ((5, 64, 7, 128), (0, 3, 2, 1)),
    ],
)
def test_copies_that_turn_memory_round(dtype, shape, order):
    x = (torch.arange(math.prod(shape)) % 251).reshape(shape).to(dtype)
    there = x.cuda()
    equal(there.permute(order).contiguous(), x.permute(order).contiguous())
    equal(there[1:].permute(order).contiguous(), x[1:].permute(order).contiguous())
    equal(there[..., 3:].permute(order).contiguous(), x[..., 3:].permute(order).contiguous())
    into = torch.empty(x.permute(order).shape, dtype=dtype, device="cuda")
    equal(into.copy_(there.permute(order)), x.permute(order).contiguous())
    equal(into.zero_().permute([order.index(i) for i in range(len(order))]).copy_(there).contiguous(), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_rows_and_columns_that_broadcast(dtype):
    x = (torch.arange(24 * 64) % 11).reshape(24, 64).to(dtype)
    row, column, mask = x[3].clone(), x[:, :1].clone(), x > 3
    there = [t.cuda() for t in (x, row, column, mask)]
    for f in (
        lambda x, r, c, m: x + r,
        lambda x, r, c, m: x * c,
        lambda x, r, c, m: r + c,
        lambda x, r, c, m: x[:, :32] + x[:, 32:],
        lambda x, r, c, m: x[:, 1:33] + x[:, 32:],
        lambda x, r, c, m: x[:, ::2] + 1,
        lambda x, r, c, m: x.t() + c.t()[:, :24],
        lambda x, r, c, m: torch.where(m, x, r),
        lambda x, r, c, m: torch.where(m[:, :30], x[:, :30], c),
        lambda x, r, c, m: x[:, :36].float() + c,
        lambda x, r, c, m: r.expand(5, 64) + 0,
        lambda x, r, c, m: c.expand(24, 64).contiguous(),
        lambda x, r, c, m: (x[:, :63] + c).clone(),
    ):
        equal(f(*there), f(x, row, column, mask))
    wide = torch.zeros(24, 80, dtype=dtype, device="cuda")
    wide[:, 8:72] = there[0]
    equal(wide[:, 8:72].contiguous(), x)
    assert not wide[:, :8].any() and not wide[:, 72:].any()
