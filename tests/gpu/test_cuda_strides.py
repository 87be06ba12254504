"""Pointwise operators over tensors that are not contiguous, and sums into rows of any width, on CUDA: the CPU's values."""

import pytest
from kernel_checks import same_on_both

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int16, torch.uint8]


@pytest.mark.parametrize("power", range(1, 17))
def test_sizes_beside_powers_of_two(power):
    for size in (2**power - 1, 2**power, 2**power + 1):
        x = torch.arange(5 * (size + 1), dtype=torch.int32).reshape(5, size + 1)
        same_on_both(lambda t: t[:, 1:] + t[:, :-1], x)
        same_on_both(lambda t: t.t()[1:] * t.t()[:-1], x)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool, torch.complex64])
@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 3, 4, 5, 6), (1200, 1501), (40, 50, 601), (1201, 1504), (8192, 100)])
def test_slices_and_transposes(shape, dtype):
    x = (torch.randn(shape) * 9).abs().to(dtype)
    same_on_both(lambda t: t[..., 1:] + t[..., :-1], x)
    same_on_both(lambda t: t[..., ::2] * 2, x)
    same_on_both(lambda t: t.transpose(0, -1) + t[:1, ..., :1].transpose(0, -1), x)
    same_on_both(lambda t: torch.where(t[1:] != 0, t[:-1], t[1:]), x)
    same_on_both(lambda t: t[..., 1:].to(torch.complex128), x)


@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64])
@pytest.mark.parametrize("width", [1, 3, 4, 16, 33, 260, 4096])
def test_sums_into_rows(width, dtype, index_dtype):
    """Whole numbers: their sums are exact in any order."""
    x, rows = torch.randint(0, 4, (30, width)).to(dtype), torch.randint(0, 4, (70, width)).to(dtype)
    index = torch.randint(0, 30, (70,))
    same_on_both(lambda t, i, r: t.index_add(0, i.to(index_dtype), r), x, index, rows)
    same_on_both(lambda t, i, r: t[:, :-1].index_add(0, i.to(index_dtype), r[:, 1:]), x, index, rows)
    same_on_both(lambda t, i, r: t.clone().index_add_(0, i.to(index_dtype), r), x, index, rows)
    same_on_both(lambda t, i, r: t.index_put((i,), r, accumulate=True), x, index, rows)
    same_on_both(lambda t, i, r: t.index_put((i,), r[0, 0], accumulate=True), x, index, rows)
