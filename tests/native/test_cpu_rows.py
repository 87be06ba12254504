"""CPU kernels of selections, distinct values, running products and extremes, counts, distances: against NumPy over generated inputs."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

DTYPES = ["uint8", "int16", "int64", "float32", "float64"]
SHAPES = [(1,), (7, 9), (4, 5, 6), (3, 130), (130, 33)]


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_running_and_selected(shape, dtype):
    a = array(shape, dtype)
    for dim in range(len(shape)):
        for t, x in ((torch.from_numpy(a), a), (torch.from_numpy(a).transpose(0, -1), np.swapaxes(a, 0, -1))):
            values, places = t.cummax(dim)
            assert np.array_equal(values.numpy(), np.maximum.accumulate(x, dim))
            assert np.array_equal(np.take_along_axis(x, places.numpy(), dim), values.numpy())
            n = x.shape[dim]
            last = np.maximum.accumulate(
                np.where(x == values.numpy(), np.moveaxis(np.arange(n).reshape((n,) + (1,) * (x.ndim - 1)), 0, dim), 0),
                dim,
            )
            assert np.array_equal(places.numpy(), last)
            assert np.array_equal(t.cummin(dim)[0].numpy(), np.minimum.accumulate(x, dim))
            ranked = np.sort(x, dim, kind="stable")
            for k in {1, (n + 1) // 2, n}:
                value, place = t.kthvalue(k, dim)
                assert np.array_equal(value.numpy(), np.take(ranked, k - 1, dim))
                assert np.array_equal(
                    np.squeeze(np.take_along_axis(x, np.expand_dims(place.numpy(), dim), dim), dim), value.numpy()
                )
            assert np.array_equal(t.median(dim, keepdim=True)[0].numpy(), np.take(ranked, [(n - 1) // 2], dim))
            assert np.array_equal(torch.count_nonzero(t, dim).numpy(), np.count_nonzero(x, dim))
            assert np.allclose(
                t[..., :5].cumprod(dim).double().numpy(),
                np.cumprod(x[..., :5].astype("float64" if "float" in dtype else "int64"), dim),
                rtol=1e-5,
            )
            assert np.allclose(
                t[..., :9].prod(dim).double().numpy(),
                np.prod(x[..., :9].astype("float64" if "float" in dtype else "int64"), dim),
                rtol=1e-5,
            )


def test_nan_is_selected_first_by_medians_and_ranked_last_by_kthvalue():
    x = torch.tensor([[3.0, float("nan"), 1.0, 2.0], [4.0, 2.0, 8.0, 6.0]])
    values, places = x.median(1)
    assert np.isnan(values[0].item()) and places.tolist() == [1, 0]
    assert x.kthvalue(3, 1)[0].tolist() == [3.0, 6.0]
    assert torch.tensor([1.0, float("nan"), 0.5, 3.0]).cummax(0)[1].tolist() == [0, 1, 1, 1]
    assert torch.zeros(0, dtype=torch.int8).median().item() == 0


def test_selection_from_keys_that_split_badly():
    for x in (
        np.arange(3000.0),
        np.arange(3000.0)[::-1].copy(),
        np.repeat([1.0, 2.0], 1500),
        np.tile([5.0, 1.0, 3.0], 1000),
    ):
        for k in (1, 700, 1500, 3000):
            assert torch.from_numpy(x).kthvalue(k)[0].item() == np.sort(x)[k - 1]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("size", [0, 1, 50, 3000])
def test_distinct(size, dtype):
    a = array((size,), "int64").astype(dtype) if dtype == "bool" else array((size,), dtype)
    values, inverse, counts = torch.unique(torch.from_numpy(a), return_inverse=True, return_counts=True)
    v, i, c = np.unique(a, return_inverse=True, return_counts=True)
    assert (
        np.array_equal(values.numpy(), v) and np.array_equal(inverse.numpy(), i) and np.array_equal(counts.numpy(), c)
    )
    values, inverse, counts = torch.unique_consecutive(torch.from_numpy(a), return_inverse=True, return_counts=True)
    starts = np.ones(size, bool)
    starts[1:] = a[1:] != a[:-1]
    assert np.array_equal(values.numpy(), a[starts]) and np.array_equal(inverse.numpy(), np.cumsum(starts) - 1)
    assert np.array_equal(np.repeat(values.numpy(), counts.numpy()), a)


def test_distinct_of_far_integers_and_of_nan():
    far = np.random.default_rng(0).integers(-(2**62), 2**62, 1000)
    assert np.array_equal(torch.unique(torch.from_numpy(np.concatenate([far, far]))).numpy(), np.unique(far))
    found, counts = torch.unique(torch.tensor([float("nan"), -0.0, 0.0, float("nan")]), return_counts=True)
    assert counts.tolist() == [2, 1, 1] and np.isnan(found[1:].numpy()).all()


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 700, 3), (70000,), (300, 200)])
def test_nansum(shape):
    a = array(shape, "float32")
    a.reshape(-1)[::3] = np.nan
    for dims in [None, *range(len(shape)), *([(0, 2)] if len(shape) == 3 else [])]:
        wanted = np.nansum(a.astype("float64"), axis=dims)
        found = torch.from_numpy(a).nansum() if dims is None else torch.from_numpy(a).nansum(dims)
        assert np.allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-3)
    inf = torch.tensor([[float("inf"), float("nan")], [float("-inf"), 1.0]])
    assert np.isnan(inf.nansum().item()) and inf.nansum(0)[1].item() == 1


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("shape", [((5, 7), (6, 7)), ((2, 3, 4), (2, 150, 4)), ((0, 3), (2, 3)), ((3, 0), (2, 0))])
def test_distances(shape, p):
    a, b = (array(s, "float64", i) for i, s in enumerate(shape))
    d = np.abs(a[..., :, None, :] - b[..., None, :, :])
    wanted = d.sum(-1) if p == 1 else np.sqrt((d * d).sum(-1)) if p == 2 else d.max(-1, initial=0)
    assert np.allclose(torch.cdist(torch.from_numpy(a), torch.from_numpy(b), p).numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (700, 10), (3000, 31), (40, 32)])
def test_sums_of_short_rows(shape, dtype):
    a = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    near = {"rtol": 1e-5 if dtype == "float32" else 1e-13}
    wide = a.astype(np.float64)
    found = torch.logsumexp(torch.from_numpy(a), 1).numpy()
    assert np.allclose(found, np.log(np.exp(wide).sum(1)), atol=near["rtol"], **near)
    assert np.allclose(torch.linalg.vector_norm(torch.from_numpy(a), dim=1).numpy(), np.sqrt((wide**2).sum(1)), **near)
    a[0, 0], a[-1] = np.inf, -np.inf
    found = torch.logsumexp(torch.from_numpy(a), 1)
    assert found[-1] == -np.inf and (found[0] == np.inf or shape[0] == 1)
    a[0, -1] = np.nan
    assert (
        torch.logsumexp(torch.from_numpy(a), 1)[0].isnan()
        and torch.linalg.vector_norm(torch.from_numpy(a), dim=1)[0].isnan()
    )
