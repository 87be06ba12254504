"""Logarithms of sums, and sums without NaN, over any dims on CUDA: the CPU's values in float64, by our own kernels."""

import math

import pytest
from kernel_checks import FLOATS, TOLERANCE

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

SHAPES = [
    ((17, 1000), (0, 1)),
    ((3, 5, 7), (-1, 1, 0, (1, 2), (0, 2), (2, 0, 1))),
    ((4, 40_000), (1,)),
    ((6,), (0,)),
    ((3, 140_001), (1, (0, 1))),  # few long rows
    ((1 << 18, 2), (0,)),
]
SPECIAL = [
    [-math.inf] * 4,
    [math.inf, 1, 2, -math.inf],
    [math.inf, math.inf, 1, 2],
    [math.nan, math.inf, 1, 2],
    [1, -math.inf, 3, math.nan],
]


def check(call, x):
    got, want = call(x.cuda()), call(x.double())
    assert got.is_cuda and got.dtype == x.dtype and got.shape == want.shape and got.stride() == want.stride()
    tolerance = TOLERANCE[x.dtype]
    torch.testing.assert_close(got.cpu().double(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_logsumexp(dtype, shape, dims):
    x = (torch.randn(*shape, dtype=torch.float64) * 3).to(dtype)
    for dim in dims:
        for keepdim in (False, True):
            check(lambda t, d=dim, k=keepdim: t.logsumexp(d, k), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_logsumexp_of_infinities(dtype):
    special = torch.tensor(SPECIAL, dtype=dtype)
    for x in (special, special.repeat(1, 300), special.repeat(1, 40_000)):
        check(lambda t: t.logsumexp(1), x)
        check(lambda t: t.t().logsumexp(0), x)
        check(lambda t: t.logsumexp((0, 1)), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_sums_without_nan(dtype, shape, dims):
    x = torch.randn(*shape, dtype=torch.float64).to(dtype) / max(shape) ** 0.5
    x.view(-1)[::5] = math.nan
    for dim in (None, *dims):
        for keepdim in (False, True):
            check(lambda t, d=dim, k=keepdim: t.nansum(d, k), x)
        check(lambda t, d=dim: t.nanmean(d), x)


def test_sums_of_other_dtypes_without_nan():
    x = torch.tensor([[1.5, math.nan], [math.inf, 2]])
    assert torch.equal(x.cuda().nansum(0, dtype=torch.float64).cpu(), x.nansum(0, dtype=torch.float64))
    assert torch.full((3, 2), math.nan, device="cuda").nansum(1).tolist() == [0, 0, 0]
    for dtype in (torch.int64, torch.uint8, torch.bool):
        whole = torch.randint(0, 2, (5, 7)).to(dtype)
        for dim in (None, 0, 1):
            got, want = whole.cuda().nansum(dim), whole.nansum(dim)
            assert got.dtype == want.dtype and torch.equal(got.cpu(), want)


@pytest.mark.parametrize(("name", "dim"), [("logsumexp", (0, 2)), ("nansum", 1), ("nanmean", (0, 1))])
def test_gradients(name, dim):
    x, slopes = torch.randn(4, 5, 6), []
    if name != "logsumexp":
        x[0, 1, 2] = math.nan
    for device in ("cpu", "cuda"):
        leaf = x.detach().to(device).requires_grad_()
        getattr(leaf, name)(dim).square().sum().backward()
        slopes.append(leaf.grad.cpu())
    torch.testing.assert_close(*slopes)
