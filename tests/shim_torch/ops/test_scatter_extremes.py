"""Extremes into places by way of unsigned words, as on CUDA, against NumPy's own."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.index.scatter_reduce import _extreme_at


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint8", "bool"])
def test_extremes_by_words(dtype, largest):
    random = np.random.default_rng(0)
    out = (random.standard_normal((5, 7)) * 100).astype(dtype)
    source = (random.standard_normal(40) * 100).astype(dtype)
    if dtype.startswith("float"):
        out[0, 0], source[3:6] = np.inf, (np.nan, -np.inf, -0.0)
    key = (random.integers(0, 5, 40), random.integers(0, 7, 40))
    wanted = out.copy()
    (np.maximum if largest else np.minimum).at(wanted, key, source)
    got = _extreme_at(np, out, key, source, largest)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def test_means_of_complex_numbers_are_sums_over_counts():
    torch.manual_seed(0)
    places, source = torch.arange(199) % 40, torch.randn(199, dtype=torch.complex64)
    zeros = torch.zeros(40, dtype=torch.complex64)
    found = zeros.scatter_reduce(0, places, source, "mean", include_self=False)
    assert torch.equal(found, zeros.scatter_add(0, places, source) / torch.bincount(places))
