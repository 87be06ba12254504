"""Symmetric indefinite systems against PyTorch 2.13, and against NumPy's solutions."""

import numpy as np
import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import indefinite_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_a_zero_block_is_named():
    for call in (torch.linalg.ldl_factor, lambda a: torch.linalg.ldl_factor_ex(a, check_errors=True)):
        with pytest.raises(RuntimeError, match=r"torch.linalg.ldl_factor(_ex)?: Unknown error code: 1."):
            call(torch.zeros(3, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_solutions_are_numpys(n, hermitian, dtype):
    r = np.random.default_rng(n)
    a = r.standard_normal((n, n)) + (1j * r.standard_normal((n, n)) if "complex" in dtype else 0)
    a = (a + (a.conj() if hermitian else a).T).astype(dtype)
    b = r.standard_normal((n, 3)).astype(dtype)
    lower = np.tril(a)  # what stands above the diagonal is not read
    lower[np.triu_indices(n, 1)] = np.nan
    packed, pivots = torch.linalg.ldl_factor(torch.from_numpy(lower), hermitian=hermitian)
    found = torch.linalg.ldl_solve(packed, pivots, torch.from_numpy(b), hermitian=hermitian)
    near = 2e-3 if dtype in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(a @ found.numpy(), b, rtol=near, atol=near)
