"""Least squares, pseudoinverses, ranks and condition numbers against NumPy, for every driver of LAPACK."""

import math

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg


DTYPES = ("float32", "float64", "complex64", "complex128")


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", ((4, 4), (5, 3), (3, 5)))
@pytest.mark.parametrize("driver", ("gels", "gelsy", "gelsd", "gelss"))
def test_least_squares(dtype, size, driver):
    a, b = made(dtype, 2, *size), made(dtype, 2, size[0], 2, seed=1)
    found = L.lstsq(a, b, driver=driver)
    torch.testing.assert_close(found.solution, L.pinv(a) @ b, rtol=1e-3, atol=1e-3)
    assert found.solution.stride()[-2:] == (1, max(size))
    if driver != "gels":
        assert found.rank.tolist() == [min(size)] * 2
    if driver in ("gelsd", "gelss"):
        torch.testing.assert_close(found.singular_values, L.svdvals(a), rtol=1e-3, atol=1e-3)
    if size == (5, 3) and driver != "gelsy":
        torch.testing.assert_close(
            found.residuals, (b - a @ found.solution).abs().square().sum(-2), rtol=1e-3, atol=1e-3
        )
    else:
        assert found.residuals.numel() == 0


A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


def test_condition_of_a_singular_matrix_is_infinite():
    for p in (1, "fro", "nuc"):
        assert L.cond(torch.stack([A, A * 0]), p)[1].item() == math.inf
