"""Native sort, topk and norms of layers against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch
from shim_torch._impl.native import _core

torch: Any = shim_torch
DTYPES = [
    np.bool_,
    np.uint8,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
]


def values(shape: Any, dtype: Any) -> Any:
    x = np.random.default_rng(5).standard_normal(shape) * 40
    x.flat[::7] = x.flat[0]  # equal ones
    if np.dtype(dtype).kind == "V" or np.dtype(dtype).kind == "f":
        x.flat[3::11] = np.nan
        x.flat[1::13], x.flat[2::13] = 0.0, -0.0
        x.flat[4::17], x.flat[5::17] = np.inf, -np.inf
    elif dtype == np.bool_:
        return x > 0
    return np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def bits(x: Any) -> bytes:
    return _core.to_numpy(x).tobytes() if isinstance(x, torch.Tensor) else np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (9,), (4, 31), (5, 3, 6), (2, 3000), (3, 0)])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(dtype: Any, shape: Any, descending: bool) -> None:
    x = values(shape, dtype) if 0 not in shape else np.zeros(shape, dtype)
    wide = x.astype(np.float64)
    for dim in {0, -1}:
        if descending:
            flipped = np.flip(wide, dim)
            order = shape[dim] - 1 - np.flip(np.argsort(flipped, dim, kind="stable"), dim)
        else:
            order = np.argsort(wide, dim, kind="stable")
        got, index = torch.from_numpy(x).sort(dim, descending)
        np.testing.assert_array_equal(index.numpy(), order)
        assert bits(got) == bits(np.take_along_axis(x, order, dim))


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32])
@pytest.mark.parametrize("k", [0, 1, 3, 40])
@pytest.mark.parametrize("largest", [False, True])
def test_topk(dtype: Any, k: int, largest: bool) -> None:
    x = values((5, 40), dtype)
    for dim, axis in ((1, x), (0, x.T)):
        source = torch.from_numpy(x if dim else np.ascontiguousarray(axis))
        got, index = source.topk(k, dim, largest)
        wide = np.sort(_core.to_numpy(source).astype(np.float64), dim)
        wide = np.flip(wide, dim) if largest else wide
        expected = wide.take(range(k), dim)
        np.testing.assert_array_equal(_core.to_numpy(got).astype(np.float64), expected)
        np.testing.assert_array_equal(bits(source.gather(dim, index)), bits(got))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 8), (2, 5, 300)])
def test_layer_and_rms_norm(dtype: Any, shape: Any) -> None:
    rng = np.random.default_rng(6)
    x, weight, bias = (rng.standard_normal(s).astype(dtype) for s in (shape, shape[-1:], shape[-1:]))
    t, w, b = (torch.from_numpy(a) for a in (x, weight, bias))
    wide = x.astype(np.float64)
    limit = {2: 2e-2 if dtype == ml_dtypes.bfloat16 else 3e-3, 4: 3e-6, 8: 1e-12}[np.dtype(dtype).itemsize]
    centred = wide - wide.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    for weights in ((None, None), (w, None), (w, b)):
        expected = normal * (1 if weights[0] is None else weight.astype(np.float64))
        expected = expected + (0 if weights[1] is None else bias.astype(np.float64))
        got = torch.nn.functional.layer_norm(t, shape[-1:], *weights)
        assert got.dtype == t.dtype
        np.testing.assert_allclose(_core.to_numpy(got).astype(np.float64), expected, rtol=limit, atol=limit)
    root = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight.astype(np.float64)
    got = torch.nn.functional.rms_norm(t, shape[-1:], w, 1e-6)
    np.testing.assert_allclose(_core.to_numpy(got).astype(np.float64), root, rtol=limit, atol=limit)
    norm = torch.linalg.vector_norm(t, dim=-1)
    np.testing.assert_allclose(_core.to_numpy(norm).astype(np.float64), np.sqrt((wide**2).sum(-1)), rtol=limit)


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


def test_tensors_of_numbers() -> None:
    cases: list[Any] = [1, 2.5, True, [1, 2], [1, 2.0], [True, 2], [[1, 2], [3, 4]], ((1.5,), (2,)), [[True], [False]]]
    for data in cases:
        made, wide = torch.tensor(data), np.array(data)
        kinds = {"b": torch.bool, "i": torch.int64, "f": torch.float32}
        assert made.dtype == kinds[wide.dtype.kind] and made.shape == wide.shape and made.tolist() == wide.tolist()
    assert torch.tensor([1, 2], dtype=torch.bfloat16).tolist() == [1, 2]
    assert torch.tensor([0, 2.5], dtype=torch.bool).tolist() == [False, True]
    assert torch.tensor([1.5, 2], dtype=torch.int64).tolist() == [1, 2]
    assert torch.tensor([2**60, -1]).tolist() == [2**60, -1]
    assert torch.tensor([]).shape == (0,) and torch.tensor([[], []]).shape == (2, 0)
    for data, message in (
        ([1, [2]], "sequence|scalar|number|type|int"),
        ([[1], [2, 3]], "expected sequence of length 1 at dim 1"),
        ([2**64], "Overflow"),
    ):
        with pytest.raises((ValueError, RuntimeError, TypeError), match=message):
            torch.tensor(data)
    with pytest.raises(RuntimeError, match="cannot be converted to type"):
        torch.tensor([300], dtype=torch.uint8)


def test_arange_of_whole_numbers() -> None:
    for args in ((5,), (2, 9), (0, 10, 3), (10, 0, -3), (3, 3), (-4, 4, 2)):
        assert torch.arange(*args).tolist() == list(range(*args))
        assert torch.arange(*args, dtype=torch.float32).tolist() == [float(v) for v in range(*args)]
    with pytest.raises(RuntimeError, match="bound"):
        torch.arange(3, 0)
    assert torch.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]


def test_sums_of_all_lengths() -> None:
    for n in (0, 1, 5, 31, 32, 33, 1023, 1025, 70_001):
        x = np.random.default_rng(n).standard_normal(n)
        for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16):
            v = x.astype(dtype)
            got = torch.from_numpy(v).sum(dtype=torch.float32 if np.dtype(dtype).itemsize < 8 else None).item()
            np.testing.assert_allclose(
                got, v.astype(np.float64).sum(), rtol=1e-5, atol=1e-3 if np.dtype(dtype).itemsize < 8 else 1e-9
            )
    y = np.random.default_rng(1).standard_normal((67, 130)).astype(np.float32)
    np.testing.assert_allclose(torch.from_numpy(y).sum(0).numpy(), y.astype(np.float64).sum(0), rtol=1e-4, atol=1e-5)
    assert torch.tensor([[1.0, float("nan")], [2.0, 3.0]]).amax(0)[1].isnan().item()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_of_16_bits_in_one_pass(dtype: Any, name: str) -> None:
    pattern = np.arange(65536, dtype=np.uint16)
    a, b = pattern.view(dtype), np.roll(pattern * np.uint16(40503), 7).view(dtype)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    with np.errstate(all="ignore"):
        expected = function(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    got = _core.to_numpy(getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)))
    kept = ~np.isnan(expected)
    assert got[kept].tobytes() == expected[kept].tobytes() and np.isnan(got[~kept]).all()
    spread = torch.from_numpy(a)[::2]
    strided = _core.to_numpy(getattr(torch, name)(spread, torch.from_numpy(b)[::2]))
    assert strided[kept[::2]].tobytes() == expected[::2][kept[::2]].tobytes()


def test_extremes_of_all_lengths() -> None:
    for n in (1, 7, 31, 32, 33, 1000, 70_001):
        x = np.random.default_rng(n).standard_normal(n)
        for dtype in (np.float32, np.float64, np.float16):
            t = torch.from_numpy(x.astype(dtype))
            assert (t.amax().item(), t.amin().item()) == (x.astype(dtype).max(), x.astype(dtype).min())
            for place in {0, n // 2, n - 1}:
                holed = t.clone()
                holed[place] = float("nan")
                assert holed.amax().isnan().item() and holed.amin().isnan().item()
                endless = torch.full((n,), -float("inf"), dtype=t.dtype)
                assert endless.amax().item() == -float("inf")
