"""Exponentials of matrices against SciPy, and chains."""

import numpy as np
import pytest
import scipy.linalg

import shim_torch as torch

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_as_scipy(dtype):
    for n in (1, 2, 5, 12):
        for scale in (0, 1e-6, 0.01, 0.3, 1, 3):
            x = rng.standard_normal((3, n, n)) * scale
            if np.dtype(dtype).kind == "c":
                x = x + 1j * rng.standard_normal((3, n, n)) * scale
            x = x.astype(dtype)
            found = torch.matrix_exp(torch.from_numpy(x))
            assert found.numpy().dtype == dtype
            for mine, matrix in zip(found.numpy(), x, strict=True):
                exact = scipy.linalg.expm(matrix.astype(np.complex128))
                assert (
                    np.abs(mine - exact).max()
                    <= 40 * np.finfo(dtype).eps * max(1, np.abs(matrix).sum(0).max()) * np.abs(exact).max()
                )


def test_gradients():
    x = torch.from_numpy(rng.standard_normal((2, 3, 3))).requires_grad_()
    assert torch.autograd.gradcheck(torch.matrix_exp, (x,)) and torch.autograd.gradgradcheck(torch.matrix_exp, (x,))


def test_chains_are_of_matrices() -> None:
    with pytest.raises(RuntimeError, match="Tensor dimension is 1, expected 2 instead."):
        torch.chain_matmul(torch.ones(2, 2), torch.ones(2))
