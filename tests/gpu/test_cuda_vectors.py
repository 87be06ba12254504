"""Vector products, polar coordinates, diagonals, incomplete gamma functions and moments of the whole on CUDA: the CPU's values, by our own kernels."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")


def both(run, *tensors, tolerance=1e-6):
    got, want = run(*(t.cuda() for t in tensors)), run(*tensors)
    for a, b in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
        assert a.is_cuda and a.dtype == b.dtype
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]
)
def test_cross(dtype):
    tolerance = {torch.float16: 1e-2, torch.bfloat16: 1e-1}.get(dtype, 1e-5)
    for shape, dim in (((5, 3), 1), ((3, 7), 0), ((2, 3, 4), 1), ((4, 5, 3), -1), ((3,), 0), ((0, 3), 1)):
        a, b = (torch.randn(shape).mul(3).abs().to(dtype) for _ in range(2))
        both(lambda x, y, dim=dim: torch.linalg.cross(x, y, dim=dim), a, b, tolerance=tolerance)
    both(
        lambda x, y: torch.linalg.cross(x[:, :3], y.t()[:, 1:4]), torch.ones(6, 8).to(dtype), torch.ones(8, 6).to(dtype)
    )
    both(lambda x, y: torch.linalg.cross(x, y), torch.ones(4, 1, 3).to(dtype), torch.ones(1, 5, 3).to(dtype))


def test_gradients_of_cross():
    found = []
    a, b = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    for device in ("cpu", "cuda"):
        x, y = (t.detach().to(device).requires_grad_() for t in (a, b))
        slopes = torch.autograd.grad(torch.linalg.cross(x, y).square().sum(), (x, y), create_graph=True)
        total = (slopes[0] * slopes[1]).sum()
        found.append([t.detach().cpu() for t in (*slopes, *torch.autograd.grad(total, (x, y)))])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polar(dtype):
    r, a = torch.rand(6, 5, dtype=dtype) * 4, torch.randn(6, 5, dtype=dtype) * 9
    both(lambda x, y: torch.view_as_real(torch.polar(x, y)), r, a)
    assert torch.polar(r[:0].cuda(), a[:0].cuda()).shape == (0, 5)


def test_diag_embed():
    x = torch.randn(2, 3, 4)
    for offset in (0, 2, -1):
        for dims in ((-2, -1), (-1, -2), (0, 2), (3, 1)):
            both(lambda a, o=offset, d=dims: torch.diag_embed(a, o, *d), x)
    both(lambda a: torch.diag(a), x[0, 0])
    both(lambda a: torch.diag_embed(a > 0), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_incomplete_gamma_functions(dtype):
    points = [0.0, 1e-3, 0.3, 1.0, 2.5, 7.0, 19.0, 25.0, 60.0, 199.0, 230.0, 1000.0, math.inf, math.nan]
    a, x = (t.to(dtype) for t in torch.meshgrid(torch.tensor(points), torch.tensor(points), indexing="ij"))
    for f in (torch.igamma, torch.igammac, torch.special.gammainc):
        both(f, a, x, tolerance=1e-6 if dtype == torch.float32 else 1e-12)
    both(torch.igamma, a[:, :1], x[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_moments_of_the_whole(dtype):
    x = (torch.randn(3, 70001) * 2 + 5).to(dtype)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2}[dtype]
    for y in (x, x[0]):
        both(lambda a: torch.std_mean(a), y, tolerance=tolerance)
        both(lambda a: torch.var_mean(a, dim=-1, correction=0), y, tolerance=tolerance)
        both(lambda a: a.var(), y, tolerance=tolerance)
