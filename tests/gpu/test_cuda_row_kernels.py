"""Our own CUDA kernels along a dimension: extremes, running sums, variance, sorting; ties, NaN, strides."""

import math

import pytest
from kernel_checks import FLOATS, SORTED, close, random, same

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("seeded")


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool],
)
@pytest.mark.parametrize(
    "shape, dim", [((5,), 0), ((4, 33), 1), ((3, 7, 40), 1), ((3, 7, 40), 0), ((2, 30000), 1), ((40, 64), -1)]
)
def test_extremes(dtype, shape, dim):
    x = (
        (random(*shape) * 20).round().abs().to(dtype)
        if dtype in (torch.uint8, torch.bool)
        else (random(*shape) * 20).round().to(dtype)
    )
    there = x.cuda()
    for keepdim in (False, True):
        if dtype != torch.bool:
            same(there.argmax(dim, keepdim), x.argmax(dim, keepdim))
            same(there.argmin(dim, keepdim), x.argmin(dim, keepdim))
        for a, b in zip(there.max(dim, keepdim), x.max(dim, keepdim), strict=True):
            same(a, b)
        for a, b in zip(there.min(dim, keepdim), x.min(dim, keepdim), strict=True):
            same(a, b)
    if dtype != torch.bool:
        same(there.argmax(), x.argmax())
        same(there.argmin(), x.argmin())


def test_extremes_of_nan_and_infinity():
    x = torch.tensor(
        [[1.0, math.nan, 3.0, math.nan], [-math.inf, -math.inf, -math.inf, -math.inf], [math.inf, 1, math.inf, 0]]
    )
    for t in (x, x.half(), x.double()):
        there = t.cuda()
        assert there.argmax(1).tolist() == [1, 0, 0] == t.argmax(1).tolist()
        assert there.argmin(1).tolist() == t.argmin(1).tolist()
        assert there.argmax(0).tolist() == t.argmax(0).tolist()
        assert math.isnan(there.max(1).values[0].item())


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize(
    "shape, dim", [((1,), 0), ((70,), 0), ((5, 513), 1), ((4, 9, 6), 1), ((100, 3), 0), ((20011,), 0), ((3, 30000), -1)]
)
def test_running_sums(dtype, shape, dim):
    x = (random(*shape) * 3).to(dtype) if dtype != torch.uint8 else (random(*shape) * 3).abs().to(dtype)
    if dtype in FLOATS:
        steps = math.sqrt(shape[dim])
        close(x.cuda().cumsum(dim), x.double().cumsum(dim), dtype, scale=4 * max(1.0, steps))
        assert x.cuda().cumsum(dim).dtype == dtype
    else:
        same(x.cuda().cumsum(dim), x.cumsum(dim))
        same(x.cuda().cumsum(dim, dtype=torch.int32), x.cumsum(dim, dtype=torch.int32))


@pytest.mark.parametrize("n", [8, 3000, 200000])
def test_running_sums_beside_large_numbers(n):
    x = random(4, n)
    x[:, n // 2] = -1e9
    close(x.cuda().cumsum(1)[:, : n // 2], x.double().cumsum(1)[:, : n // 2], torch.float32, scale=4 * math.sqrt(n))
    x[:, n // 2] = math.inf
    got = x.cuda().cumsum(1).cpu()
    assert got[:, : n // 2].isfinite().all() and got[:, n // 2 :].eq(math.inf).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_variance(dtype):
    x = random(5, 6, 77, dtype=dtype)
    there, wide = x.cuda(), x.double()
    for dims in (-1, (1, 2), None, 0, (0, 2)):
        for correction in (0, 1):
            close(there.var(dims, correction=correction), wide.var(dims, correction=correction))
            close(
                there.std(dims, correction=correction, keepdim=True),
                wide.std(dims, correction=correction, keepdim=True),
            )
    for a, b in zip(torch.var_mean(there, -1), torch.var_mean(wide, -1), strict=True):
        close(a, b)


@pytest.mark.parametrize("dtype", SORTED)
@pytest.mark.parametrize(
    "shape, dim", [((1,), 0), ((33,), 0), ((5, 64), 1), ((3, 1000), -1), ((70, 4), 0), ((2, 5000), 1), ((20000,), 0)]
)
def test_sorts(dtype, shape, dim):
    x = (
        (random(*shape) * 40).round().abs().to(dtype)
        if dtype in (torch.uint8, torch.int8)
        else (random(*shape) * 40).round().to(dtype)
    )
    there = x.cuda()
    for descending in (False, True):
        got, want = (
            there.sort(dim=dim, descending=descending, stable=True),
            x.sort(dim=dim, descending=descending, stable=True),
        )
        same(got.values, want.values)
        same(got.indices, want.indices)
    same(there.argsort(dim=dim), x.argsort(dim=dim, stable=True))
    for k in {1, min(7, shape[dim]), shape[dim]}:
        for largest in (True, False):
            values, places = there.topk(k, dim, largest)
            same(values, x.topk(k, dim, largest).values)
            same(there.gather(dim, places), values.cpu())


def test_sorts_of_nan_and_zeros():
    x = torch.tensor([3.0, math.nan, -0.0, 0.0, -math.inf, math.inf, math.nan, -1.0])
    for t in (x, x.double(), x.half(), x.bfloat16()):
        for descending in (False, True):
            assert (
                t.cuda().sort(descending=descending, stable=True).indices.tolist()
                == t.sort(descending=descending, stable=True).indices.tolist()
            )
        assert t.cuda().topk(3).indices.cpu().sort().values.tolist()[0] in (1, 5)
    big = torch.tensor([2**62, -(2**63), 2**63 - 1, 0])
    assert big.cuda().sort().values.tolist() == big.sort().values.tolist()


def test_sort_gradients():
    found = []
    for device in ("cpu", "cuda"):
        leaf = torch.arange(12.0, dtype=torch.float64).cos().reshape(3, 4).to(device).requires_grad_()
        (leaf.sort(1).values ** 2 * torch.arange(4.0, device=device)).sum().backward()
        leaf.topk(2, 1).values.sum().backward()
        leaf.max(1).values.sum().backward()
        leaf.cumsum(0).pow(2).sum().backward()
        found.append(leaf.grad.cpu())
    close(found[1], found[0])
