"""Philox's words: known answers, and the native generator against the one in array operations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._generator import philox, philox_reference


def test_known_answer():
    # Random123's kat_vectors: philox4x32 10, counter and key all zero
    assert philox(np, 0, 0, 1).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]


@pytest.mark.parametrize("seed, offset", [(0, 0), (1, 2**32 - 3), (2**63 + 12345, 2**40), (2**64 - 1, 7)])
@pytest.mark.parametrize("blocks", [0, 1, 5, 40000])
def test_native_words(seed, offset, blocks):
    np.testing.assert_array_equal(philox(np, seed, offset, blocks), philox_reference(np, seed, offset, blocks))


def test_draws_are_normal():
    torch.manual_seed(3)
    x = torch.randn(200000).double()
    assert abs(x.mean().item()) < 0.01
    assert abs(x.std().item() - 1) < 0.01
    assert abs((x**4).mean().item() - 3) < 0.1


@pytest.mark.parametrize("n", [1, 2, 7, 1023, 1025, 4097, 70001])
@pytest.mark.parametrize(
    ("kind", "a", "b", "dtype"),
    [
        ("uniform", -1.5, 3.25, "float32"),
        ("uniform", 0.0, 1.0, "float64"),
        ("integer", -5, 1000, "int64"),
        ("integer", 3, 250, "uint8"),
        ("integer", -(2**63), 2**63, "int64"),
        ("normal", 1.0, 3.0, "float32"),
        ("normal", 0.0, 1.0, "float64"),
    ],
)
def test_native_draws_are_those_in_array_operations(n, kind, a, b, dtype):
    from shim_torch.ops.random import _random_bits

    arrays = SimpleNamespace(**vars(np))  # not NumPy itself: takes the form that CuPy takes
    draw = getattr(_random_bits, "body", _random_bits)
    like = np.empty(n, dtype)
    found, expected = (draw(xp, like, kind, a, b, 77, 5) for xp in (np, arrays))
    assert found.dtype == expected.dtype == np.dtype(dtype)
    if kind == "normal":
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 if dtype == "float32" else 1e-14)
    else:
        np.testing.assert_array_equal(found, expected)
