"""Bags whose last offset ends before the indices do: as PyTorch, only its fast sums heed it."""

import pytest

import shim_torch as torch

INDICES, OFFSETS = [1, 0, 3, 1, 2, 2, 0], [0, 2, 2, 4]
MAXIMA = [[3, -1, 2.5], [0, 0, 0], [9, -1, 5.5]]


def _bags(dtype, mode, padding=None):
    table = torch.arange(12, dtype=dtype).reshape(4, 3) * torch.tensor([1, -1, 0.5], dtype=dtype)
    table.requires_grad_()
    out = torch.nn.functional.embedding_bag(
        torch.tensor(INDICES), table, torch.tensor(OFFSETS), mode=mode, include_last_offset=True, padding_idx=padding
    )
    (g,) = torch.autograd.grad(out, table, torch.arange(1, 10, dtype=dtype).reshape(3, 3))
    return out.detach(), g


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_means(dtype):
    out, g = _bags(dtype, "mean")
    last = [4.8, -5.8, 3.4] if dtype == torch.float64 else [2.4, -2.8, 1.6]  # divided by all five in every dtype
    torch.testing.assert_close(out, torch.tensor([[1.5, -2.5, 1.75], [0, 0, 0], last], dtype=dtype))
    expected = [[1.9, 2.6, 3.3], [1.9, 2.6, 3.3], [2.8, 3.2, 3.6], [1.4, 1.6, 1.8]]
    torch.testing.assert_close(g, torch.tensor(expected, dtype=dtype), rtol=1e-2 if dtype.itemsize == 2 else None,
                               atol=1e-2 if dtype.itemsize == 2 else None)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_maxima(dtype):
    out, g = _bags(dtype, "max")
    torch.testing.assert_close(out, torch.tensor(MAXIMA, dtype=dtype))
    torch.testing.assert_close(g, torch.tensor([[0, 10, 0], [1, 0, 3], [0, 0, 0], [7, 0, 9]], dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums(dtype):
    last = [24, -29, 17] if dtype == torch.float64 else [12, -14, 8]
    out, _ = _bags(dtype, "sum")
    torch.testing.assert_close(out, torch.tensor([[3, -5, 3.5], [0, 0, 0], last], dtype=dtype))
    padded, _ = _bags(dtype, "sum", padding=1)  # 24 - 3, -29 + 4, 17 - 2.5 whatever the dtype
    torch.testing.assert_close(padded[2], torch.tensor([21, -25, 14.5], dtype=dtype))
