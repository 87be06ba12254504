"""Flips, rolls, norms over dimensions and running extremes on CUDA against the CPU's."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
MOVED = [torch.uint8, torch.bfloat16, torch.float32, torch.int64, torch.complex128, torch.bool]


def equal(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("dtype", MOVED)
def test_flip_and_roll(dtype):
    x = (torch.arange(4 * 6 * 40) % 97).reshape(4, 6, 40).to(dtype)
    there = x.cuda()
    for dims in ((0,), (2,), (0, 1), (-1, 0), (0, 1, 2), ()):
        equal(there.flip(dims), x.flip(dims))
        equal(there.transpose(0, 2).flip(dims), x.transpose(0, 2).flip(dims).contiguous())
        equal(there[:, 1:, 3:].flip(dims), x[:, 1:, 3:].flip(dims).contiguous())
    for shifts, dims in ((1, 0), (-3, 2), ((1, 5), (0, 2)), (7, None), (4, 0), ((2, 2), (1, 1)), (81, -1)):
        given = (shifts,) if dims is None else (shifts, dims)
        equal(there.roll(*given), x.roll(*given))
        equal(there.transpose(0, 1).roll(*given), x.transpose(0, 1).roll(*given).contiguous())
    rolled = there.roll(4, 0)
    rolled.zero_()
    equal(there, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_vector_norms(dtype):
    x = (torch.randn(6, 50, 33, dtype=torch.float64) * 2).to(dtype)
    there, wide = x.cuda(), x.double()
    for order in (2, 1, math.inf, -math.inf, 0, 3, -1):
        for dim in (None, -1, 0, (0, 2), (1, 2)):
            for keep in (False, True):
                got = torch.linalg.vector_norm(there, order, dim, keep)
                want = torch.linalg.vector_norm(wide, order, dim, keep)
                assert got.dtype == dtype and got.shape == want.shape
                torch.testing.assert_close(got.cpu().double(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    large = torch.randn(3_000_000, dtype=torch.float64)
    torch.testing.assert_close(large.to(dtype).cuda().norm().cpu().double(), large.norm(), rtol=1e-2, atol=0)
    there[2, 3, 4] = math.nan
    assert math.isnan(there.norm().item()) and math.isnan(torch.linalg.vector_norm(there, math.inf).item())
    torch.testing.assert_close(torch.tensor(3.0, device="cuda").norm().item(), 3.0)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize(
    "shape, dim", [((1,), 0), ((70,), 0), ((5, 513), 1), ((4, 9, 6), 1), ((4, 0), 1), ((33, 5), 0)]
)
def test_running_extremes(dtype, shape, dim):
    x = (torch.randn(*shape, dtype=torch.float64) * 3).abs().round().to(dtype)
    if dtype.is_floating_point and x.numel() > 100:
        x.view(-1)[40], x.view(-1)[60] = math.nan, math.nan
    for name in ("cummax", "cummin"):
        got, want = getattr(x.cuda(), name)(dim), getattr(x, name)(dim)
        equal(got.indices, want.indices)
        torch.testing.assert_close(got.values.cpu(), want.values, rtol=0, atol=0, equal_nan=True)


def test_gradients():
    found = []
    for device in ("cpu", "cuda"):
        leaf = torch.arange(24.0, dtype=torch.float64).cos().reshape(4, 6).to(device).requires_grad_()
        weights = torch.arange(24.0, dtype=torch.float64).reshape(4, 6).to(device)
        out = leaf.flip(1) + leaf.roll(2, 0) + leaf.cummax(1).values
        (out * weights).sum().backward()
        (torch.linalg.vector_norm(leaf, dim=1).sum() + leaf.norm() + leaf.norm(3)).backward()
        found.append(leaf.grad.cpu())
    torch.testing.assert_close(found[1], found[0])
