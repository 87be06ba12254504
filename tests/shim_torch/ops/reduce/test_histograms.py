"""Histograms: counts against NumPy, edges and weights, dtypes of the outputs."""

import math

import numpy as np
import pytest

import shim_torch as torch


def test_edges_and_weights_of_histograms_are_checked():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="bins tensor should have one dimension, but got 2 dimensions"):
        torch.histogram(x, x)
    with pytest.raises(RuntimeError, match="bins tensor should have at least 1 element"):
        torch.histogram(torch.ones(0), torch.ones(0))
    with pytest.raises(RuntimeError, match=r"but got input\(float\), and weight\(double\)"):
        torch.histogram(x, 1, weight=x.double())
    with pytest.raises(RuntimeError, match=r"input with shape \[4, 1\] and weight with shape \[1\]"):
        torch.histogram(x, 1, weight=torch.ones(1))


def test_histogramdd_without_columns():
    hist, edges = torch.histogramdd(torch.zeros(3, 0), [])
    assert hist.item() == 0 and edges == ()


def test_histogram_counts_into_its_own_dtype():
    outs = (torch.zeros(3, dtype=torch.float64), torch.zeros(4))
    text = (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input float and hist double"
    )
    with pytest.raises(RuntimeError, match=text):
        torch.histogram(torch.ones(3), 3, out=outs)


rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histograms(dtype):
    x = torch.from_numpy(rng.standard_normal((300, 401))).to(dtype)
    x[0, :3] = torch.tensor([math.nan, -3.0, 3.0])
    flat = x.numpy().reshape(-1)
    inside = flat[(flat >= -3) & (flat <= 3)]
    place = ((inside - flat.dtype.type(-3)) * flat.dtype.type(100) / flat.dtype.type(6)).astype(np.int64)
    expected = np.bincount(np.minimum(place, 99), minlength=100)
    found = torch.histc(x, 100, -3, 3)
    assert found.dtype is dtype and np.array_equal(found.numpy(), expected)
    assert np.array_equal(torch.histc(x.t(), 100, -3, 3).numpy(), expected)
    y = torch.tensor([1.0, 2.0, 2.0, 4.0], dtype=dtype)
    assert torch.histc(y, 3).tolist() == [1.0, 2.0, 1.0]
    assert torch.histc(torch.ones(4, dtype=dtype), 4).tolist() == [0.0, 0.0, 4.0, 0.0]
    with pytest.raises(RuntimeError, match="not finite"):
        torch.histc(x, 10)
    with pytest.raises(RuntimeError, match="max must be larger than min"):
        torch.histc(y, 10, 3, 1)
