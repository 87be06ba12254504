"""Eigenvalues and eigenvectors; losses that depend on the phase of complex vectors have no gradient."""

import numpy as np
import pytest

import shim_torch as torch

EIG = r"_backward: The eigenvectors in the complex case are specified up to multiplication by e\^\{i phi\}"


def _matrix(*shape: int, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(shape, dtype=torch.complex128, requires_grad=True)


@pytest.mark.parametrize("name", ["eig", "eigh"])
def test_eigenvectors(name: str) -> None:
    A = _matrix(2, 3, 3)
    V = getattr(torch.linalg, name)(A + A.mH).eigenvectors
    with pytest.raises(RuntimeError, match=f"linalg_{name}{EIG}"):
        V.sum().abs().backward(retain_graph=True)
    assert torch.autograd.grad(V.abs().sum(), A)[0].isfinite().all()


def test_real_matrices_with_complex_eigenvectors() -> None:
    A = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match=f"linalg_eig{EIG}"):
        (torch.linalg.eig(A).eigenvectors.imag * torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum().backward()


L = torch.linalg


DTYPES = ("float32", "float64", "complex64", "complex128")


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_any_matrix(dtype):
    a = made(dtype, 3, 4, 4)
    values, vectors = L.eig(a)
    torch.testing.assert_close(a.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(values.sum(-1), a.diagonal(0, -2, -1).sum(-1).to(values.dtype), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(L.det(a).to(values.dtype), values.prod(-1), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(
        torch.view_as_real(L.eigvals(a)).abs().sum(), torch.view_as_real(values).abs().sum(), rtol=1e-3, atol=1e-3
    )
