"""Native joining, gathering, splitting, products and statistics on the CPU against NumPy."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch
from shim_torch._impl.native import _core

torch: Any = shim_torch

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
SHAPES = [(7,), (3, 5), (4, 3, 6), (70, 41), (0, 3)]
KERNELS = {k for k, r in sys.modules["shim_torch._impl.table.operators"].records().items() if r.kind == "kernel"}
LIMIT = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-12}


def random(shape: Any, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def natively(call: Any) -> Any:
    """The call's result; fails if a NumPy body ran for it."""
    before = {k: v[0] for k, v in _core.operator_counts().items()}
    result = call()
    ran = {k for k, v in _core.operator_counts().items() if v[0] != before.get(k, 0) and k in KERNELS}
    assert not ran, f"{ran} ran their bodies"
    return result


def numpy(t: Any) -> Any:
    return _core.to_numpy(t)


def close(actual: Any, expected: Any, dtype: Any) -> None:
    limit = LIMIT[np.dtype(dtype).name]
    assert actual.dtype == torch.from_numpy(np.zeros(1, dtype)).dtype
    np.testing.assert_allclose(numpy(actual).astype(np.float64), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
def test_cat_and_stack(shape: Any, dim: int, dtype: Any) -> None:
    a, b = random(shape).astype(dtype), (random(shape) * 3).astype(dtype)
    spread = torch.from_numpy(np.ascontiguousarray(b.T)).permute(*range(len(shape))[::-1])
    got = natively(lambda: torch.cat([torch.from_numpy(a), spread, torch.from_numpy(a)], dim))
    np.testing.assert_array_equal(numpy(got), np.concatenate([a, b, a], dim))
    got = natively(lambda: torch.stack([torch.from_numpy(a), spread], dim))
    np.testing.assert_array_equal(numpy(got), np.stack([a, b], dim))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex128])
def test_taking_by_index(dtype: Any) -> None:
    x = random((6, 5, 4)).astype(dtype)
    t, index = torch.from_numpy(x), np.array([[3, 0], [1, 3]])
    for dim in (0, 1, -1):
        got = natively(lambda d=dim: t.index_select(d, torch.tensor([2, 0, 2])))
        np.testing.assert_array_equal(numpy(got), x.take([2, 0, 2], dim))
    i, negative = torch.from_numpy(index), torch.from_numpy(index - 4)
    np.testing.assert_array_equal(numpy(natively(lambda: t[i])), x[index])
    np.testing.assert_array_equal(numpy(natively(lambda: t[:, i])), x[:, index])
    np.testing.assert_array_equal(numpy(natively(lambda: t[..., negative])), x[..., index - 4])
    np.testing.assert_array_equal(numpy(natively(lambda: t[i, negative])), x[index, index - 4])
    np.testing.assert_array_equal(numpy(natively(lambda: t[:, i, i[0]])), x[:, index, index[0]])
    np.testing.assert_array_equal(numpy(natively(lambda: t.transpose(0, 2)[i])), x.transpose(2, 1, 0)[index])
    with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
        t[torch.tensor([6])]


def test_embedding_and_bounds() -> None:
    table, index = random((10, 3)), np.array([[1, 9], [0, 1]])
    got = natively(lambda: torch.nn.functional.embedding(torch.from_numpy(index), torch.from_numpy(table)))
    np.testing.assert_array_equal(numpy(got), table[index])
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.nn.functional.embedding(torch.tensor([10]), torch.from_numpy(table))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather(dim: int) -> None:
    x = random((4, 5, 6))
    index = np.random.default_rng(2).integers(0, 4, (4, 5, 6))
    got = natively(lambda: torch.from_numpy(x).gather(dim, torch.from_numpy(index)))
    np.testing.assert_array_equal(numpy(got), np.take_along_axis(x, index, dim))
    part = index[:2]
    got = torch.from_numpy(x).gather(dim, torch.from_numpy(part))
    np.testing.assert_array_equal(numpy(got), np.take_along_axis(x if dim == 0 else x[:2], part, dim))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_masks(dtype: Any) -> None:
    x = (random((33, 9)) * 2).astype(dtype)
    mask = random((33, 9)) > 0
    t, m = torch.from_numpy(x), torch.from_numpy(mask)
    np.testing.assert_array_equal(numpy(natively(lambda: t.masked_select(m))), x[mask])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m])), x[mask])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m[:, 0]])), x[mask[:, 0]])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m & ~m])), x[mask & ~mask])
    np.testing.assert_array_equal(numpy(t.nonzero()), np.argwhere(x))


def test_pieces_are_views() -> None:
    x = torch.arange(20).reshape(5, 4)
    parts = natively(lambda: (x.split(2), x.chunk(3, 1), x.unbind(1), x.split([1, 4]), (x.narrow(0, 1, 2),)))
    shapes = [[tuple(p.shape) for p in group] for group in parts]
    assert shapes[:2] == [[(2, 4), (2, 4), (1, 4)], [(5, 2), (5, 2)]]
    assert shapes[2:] == [[(5,)] * 4, [(1, 4), (4, 4)], [(2, 4)]]
    for group in parts:
        for p in group:
            assert p._base is x._base and p._version == x._version
            assert p.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    parts[0][1].fill_(-1)
    assert x[2:4].tolist() == [[-1] * 4] * 2
    leaf = torch.ones(4, requires_grad=True)
    leaf.split(2)[1].sum().backward()
    assert leaf.grad.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 7, 1), (16, 1, 3), (64, 32, 48)])
def test_products(dtype: Any, sizes: Any) -> None:
    m, k, n = sizes
    a, b = random((m, k), dtype), random((k, n), dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    expected = a.astype(wide) @ b.astype(wide)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    close(natively(lambda: x.mm(y)), expected, dtype)
    close(natively(lambda: torch.from_numpy(a.T.copy()).t() @ torch.from_numpy(b.T.copy()).t()), expected, dtype)
    padded = torch.zeros(m, k + 3, dtype=x.dtype)
    padded[:, :k].copy_(x)
    close(natively(lambda: padded[:, :k] @ y), expected, dtype)
    every_other = torch.zeros(m, 2 * k, dtype=x.dtype)
    every_other[:, ::2].copy_(x)
    close(natively(lambda: every_other[:, ::2] @ y), expected, dtype)
    close(natively(lambda: x @ y[:, 0]), expected[:, 0], dtype)
    close(natively(lambda: x[0] @ y), expected[0], dtype)
    close(natively(lambda: x.expand(2, m, k) @ y), np.stack([expected] * 2), dtype)
    batch = natively(lambda: x.expand(2, 3, m, k) @ y.expand(2, 3, k, n).contiguous())
    close(batch, np.broadcast_to(expected, (2, 3, m, n)), dtype)
    c = random((n,), dtype)
    got = natively(lambda: torch.addmm(torch.from_numpy(c), x, y, beta=0.5, alpha=2))
    close(got, 0.5 * c.astype(wide) + 2 * expected, dtype)


def test_products_of_nothing() -> None:
    assert (torch.ones(2, 0) @ torch.ones(0, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert (torch.ones(0, 2) @ torch.ones(2, 3)).shape == (0, 3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    nan = torch.full((2, 2), float("nan"))
    assert torch.addmm(nan, torch.ones(2, 2), torch.ones(2, 2), beta=0).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (4, 3, 6), (70, 41), (2, 70000)])
def test_statistics(shape: Any, dtype: Any) -> None:
    x = random(shape, dtype)
    t, wide = torch.from_numpy(x), x.astype(np.float64)
    for dim in (None, 0, -1):
        close(natively(lambda d=dim: t.var(d)), wide.var(dim, ddof=1), dtype)
        close(natively(lambda d=dim: t.std(d, correction=0)), wide.std(dim), dtype)
        v, m = natively(lambda d=dim: torch.var_mean(t, d))
        close(v, wide.var(dim, ddof=1), dtype)
        close(m, wide.mean(dim), dtype)
        assert numpy(natively(lambda d=dim: t.argmax(d))).tolist() == x.astype(np.float64).argmax(dim).tolist()
        assert numpy(natively(lambda d=dim: t.argmin(d))).tolist() == x.astype(np.float64).argmin(dim).tolist()
    for dim in (0, -1):
        values, index = natively(lambda d=dim: t.max(d, keepdim=True))
        np.testing.assert_array_equal(numpy(values).astype(np.float64), wide.max(dim, keepdims=True))
        np.testing.assert_array_equal(numpy(index), wide.argmax(dim, keepdims=True))
        expected = np.log(np.exp(wide).sum(dim))
        close(natively(lambda d=dim: t.logsumexp(d)), expected, dtype)
        got, sums = numpy(natively(lambda d=dim: t.cumsum(d))).astype(np.float64), wide.cumsum(dim)
        np.testing.assert_allclose(got, sums, rtol=LIMIT[np.dtype(dtype).name], atol=LIMIT[np.dtype(dtype).name] * 20)
    assert natively(lambda: t.max()).item() == wide.max()
    assert natively(lambda: t.min()).item() == wide.min()


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64])
def test_integer_extremes_and_sums(dtype: Any) -> None:
    x = np.random.default_rng(3).integers(0, 2 if dtype == np.bool_ else 100, (9, 37)).astype(dtype)
    t = torch.from_numpy(x)
    if dtype == np.bool_:
        with pytest.raises(RuntimeError, match="does not support bool input"):
            t.argmax(1)
    else:
        np.testing.assert_array_equal(numpy(natively(lambda: t.argmax(1))), x.argmax(1))
    np.testing.assert_array_equal(numpy(natively(lambda: t.min(0).values)), x.min(0))
    np.testing.assert_array_equal(numpy(natively(lambda: t.cumsum(1))), x.cumsum(1))


def test_nan_and_infinity() -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0, nan], [inf, 2.0, inf, 0.0], [-inf, -inf, -inf, -inf]])
    assert x.argmax(1).tolist() == [1, 0, 0]
    assert x.argmin(1).tolist() == [1, 3, 0]
    assert str(x.max(1).values.tolist()) == "[nan, inf, -inf]"
    assert str(x.logsumexp(1).tolist()) == "[nan, inf, -inf]"
    assert torch.isnan(x.max()).item()
    long = torch.zeros(100)
    long[77] = nan
    assert long.argmax().item() == 77


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(32, 32), (33, 70), (100, 31), (257, 129)])
def test_transposed_copies(shape: Any, dtype: Any) -> None:
    x = (random(shape) * 100).astype(dtype)
    t = torch.from_numpy(x)
    np.testing.assert_array_equal(numpy(t.t().contiguous()), x.T)
    part = torch.from_numpy(x)[1:, 2:]
    np.testing.assert_array_equal(numpy(part.t().contiguous()), x[1:, 2:].T)


def test_blas_follows_the_number_of_threads() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        assert (torch.ones(300, 300) @ torch.ones(300, 300)).eq(300).all().item()
    finally:
        torch.set_num_threads(before)
