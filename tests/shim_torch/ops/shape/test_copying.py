"""Copies and conversions: values, memory formats, and what has nothing to copy."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def random(shape: Any, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def numpy(t: Any) -> Any:
    return _core.to_numpy(t)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(32, 32), (33, 70), (100, 31), (257, 129)])
def test_transposed_copies(shape: Any, dtype: Any) -> None:
    x = (random(shape) * 100).astype(dtype)
    t = torch.from_numpy(x)
    np.testing.assert_array_equal(numpy(t.t().contiguous()), x.T)
    part = torch.from_numpy(x)[1:, 2:]
    np.testing.assert_array_equal(numpy(part.t().contiguous()), x[1:, 2:].T)


rng = np.random.default_rng(0)


@pytest.mark.parametrize("cast", [None, torch.float64])
def test_copies_whose_innermost_dim_is_short(cast):
    x = torch.from_numpy(rng.standard_normal((3, 8, 9, 10)).astype(np.float32))
    for source in (
        x.reshape(3, 2, 2, 2, 9, 10).permute(0, 1, 4, 2, 5, 3),  # pixel_shuffle's
        x.reshape(-1).unfold(0, 3, 2),
        torch.arange(30000.0).reshape(6000, 5)[:, 1:4],
        torch.arange(14002.0).reshape(7001, 2).flip(0)[:, :1].expand(7001, 3),
        x.permute(1, 0, 3, 2)[..., ::4],
    ):
        expected = np.ascontiguousarray(source.numpy())
        found = source.to(cast) if cast else source.contiguous()
        assert np.array_equal(found.numpy(), expected)
        target = torch.zeros(*reversed(source.shape), dtype=found.dtype).permute(*reversed(range(source.dim())))
        assert np.array_equal(target.copy_(source).numpy(), expected)


INF, NAN = math.inf, math.nan


def test_floats_to_small_integers_as_pytorch():
    x = torch.tensor([3e9 + 512, 70000.0, -70001.0, NAN, 300.7, -300.7] * 20)
    assert x.to(torch.int8)[:6].tolist() == [0, 112, -113, 0, 44, -44]
    assert x.to(torch.int16)[:6].tolist() == [0, 4464, -4465, 0, 300, -300]
    assert x.to(torch.uint8)[:6].tolist() == [0, 112, 143, 0, 44, 212]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.float32, torch.int64, torch.complex128])
def test_fills_of_every_size(dtype):
    assert torch.full((70,), 1, dtype=dtype).tolist() == [torch.ones((), dtype=dtype).item()] * 70
    x = torch.zeros(70, dtype=dtype)
    x[::2].fill_(1)
    assert x.tolist() == [torch.tensor(i % 2 == 0).to(dtype).item() for i in range(70)]


def bits(x: Any) -> bytes:
    return _core.to_numpy(x).tobytes() if isinstance(x, torch.Tensor) else np.ascontiguousarray(x).tobytes()


def test_float16_conversions_are_exact() -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = torch.from_numpy(halves).to(torch.float32).numpy()
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    back = torch.from_numpy(wide).to(torch.float16).numpy()
    kept = ~np.isnan(halves)
    assert back[kept].tobytes() == halves[kept].tobytes() and np.isnan(back[~kept]).all()
    x = (
        np.random.default_rng(7).standard_normal(10_007).astype(np.float32)
        * np.float32(2.0) ** np.arange(-12, 12).repeat(417)[:10_007]
    )
    assert torch.from_numpy(x).half().numpy().tobytes() == x.astype(np.float16).tobytes()
    assert bits(torch.from_numpy(x).bfloat16()) == bits(x.astype(ml_dtypes.bfloat16))
