"""Exponentials and powers of matrices, chains, cross and Kronecker products, against SciPy and NumPy."""

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


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "int8", "complex64"])
def test_vector_products(dtype):
    r = np.random.default_rng(0)
    a, b = ((r.standard_normal((4, 3, 5)) * 9).astype(dtype) for _ in range(2))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    wanted = np.cross(a, b, axis=1)
    assert np.allclose(torch.linalg.cross(x, y, dim=1).numpy(), wanted)
    assert np.allclose(torch.cross(x.transpose(0, 1), y.transpose(0, 1), dim=0).numpy(), np.moveaxis(wanted, 1, 0))
    assert np.allclose(torch.linalg.cross(x, y[:1], dim=-2).numpy(), np.cross(a, b[:1], axis=1))
    if dtype == "float64":
        assert torch.autograd.gradcheck(
            lambda x, y: torch.linalg.cross(x, y, dim=1), (x.requires_grad_(), y[:1].detach().requires_grad_())
        )
        assert np.allclose(
            torch.linalg.cross(torch.complex(x, y).conj().imag.detach(), x.detach(), dim=1).numpy(),
            np.cross(-b, a, axis=1),
        )
