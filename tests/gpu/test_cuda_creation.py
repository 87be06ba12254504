# ruff: noqa: B023 (what is made in a loop is called in the same round)
"""Tensors made from places, searches, repeats and frames on CUDA: the CPU's values, by our own kernels."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")


def both(run, *tensors, tolerance=0.0):
    got, want = run(*(t.cuda() for t in tensors)), run(*tensors)
    assert got.is_cuda and got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_linspace():
    for start, end, steps in ((0, 1, 2), (-3, 5.5, 7), (2, -2, 1000), (0, 1, 100_001)):
        for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
            here, there = (torch.linspace(start, end, steps, dtype=dtype, device=d) for d in ("cpu", "cuda"))
            assert there.is_cuda and there.dtype == dtype
            torch.testing.assert_close(there.cpu(), here, rtol=tolerance, atol=tolerance * abs(end - start))
            assert there[0].item() == start and there[-1].item() == end


@pytest.mark.parametrize("make", [torch.tril_indices, torch.triu_indices])
def test_indices_of_triangles(make):
    for rows, cols in ((1, 1), (4, 4), (3, 7), (9, 2), (65, 130)):
        for offset in (-12, -3, -1, 0, 1, 2, 8, 12):
            here, there = (make(rows, cols, offset, device=d) for d in ("cpu", "cuda"))
            assert there.dtype == here.dtype and torch.equal(there.cpu(), here), (rows, cols, offset)
    assert make(5, 5, dtype=torch.int32, device="cuda").dtype == torch.int32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8])
def test_searchsorted(dtype):
    x = torch.sort((torch.rand(37) * 90).to(dtype)).values
    rows = torch.sort((torch.rand(5, 37) * 90).to(dtype)).values
    wanted = (torch.rand(5, 201) * 100).to(dtype)
    for right in (False, True):
        both(lambda a, v: torch.searchsorted(a, v, right=right), x, wanted)
        both(lambda a, v: torch.searchsorted(a, v, right=right, out_int32=True), rows, wanted)
        both(lambda a, v: torch.bucketize(v, a, right=right), x, wanted)
    if dtype.is_floating_point:
        wanted[0, :3] = torch.tensor([math.nan, math.inf, -math.inf]).to(dtype)
        both(lambda a, v: torch.searchsorted(a, v), x, wanted)
    both(lambda a, v: torch.searchsorted(a, v[0, 0], side="right"), x, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex64])
def test_repeat(dtype):
    x = (torch.randn(3, 1, 16) * 2).to(dtype)
    for repeats in ((1, 1, 1), (2, 3, 4), (2, 1, 1, 3), (1, 5, 2)):
        both(lambda a: a.repeat(*repeats), x)
        both(lambda a: a.transpose(0, 2).repeat(*repeats), x)
    both(lambda a: a.reshape(()).repeat(3, 2) if a.numel() == 1 else a, x[:1, :1, :1].contiguous())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.float64])
def test_pads(dtype):
    pad = torch.nn.functional.pad
    for shape in ((7,), (5, 33), (2, 3, 4, 17), (3, 1, 2)):
        x = (torch.randn(*shape) * 50).abs().to(dtype)
        for sides in ((1, 1), (3, 0), (-2, 5), (0, -1), (2, 1, 0, 3), (-1, 1, 1, -1), (0, 0, 2, 2, 1, 0)):
            if len(sides) // 2 <= len(shape) and all(
                n + sides[2 * i] >= 0 for i, n in enumerate(shape[::-1]) if i < len(sides) // 2
            ):
                if all(
                    n + sides[2 * i] + sides[2 * i + 1] > 0 for i, n in enumerate(shape[::-1]) if i < len(sides) // 2
                ):
                    both(lambda a: pad(a, sides), x)
                    both(lambda a: pad(a, sides, value=3), x)


def test_glu_and_hard_activations():
    functional = torch.nn.functional
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 1e-2)):
        x = (torch.randn(4, 6, 34) * 4).to(dtype)
        for dim in (-1, 0, 1):
            both(lambda a: functional.glu(a, dim), x, tolerance=tolerance)
        both(functional.hardswish, x, tolerance=tolerance)
        both(functional.hardsigmoid, x, tolerance=tolerance)


def test_stacks_of_expanded_ones():
    x, y = torch.randn(33), torch.randn(20)
    both(lambda a, b: torch.stack(torch.meshgrid(a, b, indexing="ij")), x, y)
    both(lambda a, b: torch.stack(torch.meshgrid(a, b, indexing="xy"), -1), x, y)
    both(lambda a, b: torch.cat([a.expand(3, 33), b[:3, None].expand(3, 20)], 1), x, y)
