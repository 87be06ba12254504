"""Singular values and vectors: what the factors make; losses that depend on the phase of complex vectors have no gradient."""

import numpy as np
import pytest

import shim_torch as torch

SVD = r"svd_backward: The singular vectors in the complex case are specified up to multiplication by e\^\{i phi\}"


def _matrix(*shape: int, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(shape, dtype=torch.complex128, requires_grad=True)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (4, 2), (2, 4)])
def test_singular_vectors(shape: tuple[int, ...], full: bool) -> None:
    A = _matrix(*shape)
    U, S, Vh = torch.linalg.svd(A, full_matrices=full)
    k = min(shape[-2:])
    for loss in (U[..., :k].sum().abs(), Vh[..., :k, :].sum().abs(), (U[..., :1].sum() + Vh[..., :1, :].sum()).abs()):
        with pytest.raises(RuntimeError, match=SVD):
            loss.backward(retain_graph=True)
    again = (U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :]
    torch.testing.assert_close(torch.autograd.grad(again.abs().sum(), A)[0], torch.autograd.grad(A.abs().sum(), A)[0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values_without_vectors(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((2, 3, 5), (4, 2), (0, 3), (2, 0, 3)):
        x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0)
        a = torch.from_numpy(x.astype(dtype))
        found = torch.linalg.svdvals(a)
        assert found.dtype == a.dtype.to_real() and found.shape == (*shape[:-2], min(shape[-2:]))
        np.testing.assert_allclose(found.numpy(), np.linalg.svd(x, compute_uv=False), rtol=1e-4, atol=1e-5)


def test_svd_gives_v_untransposed() -> None:
    A = _matrix(4, 2).detach()
    U, S, V = torch.svd(A)
    torch.testing.assert_close((U * S) @ V.mH, A)
    assert torch.svd(A, some=False).U.shape == (4, 4)
    _, alone, nothing = torch.svd(A, compute_uv=False)
    torch.testing.assert_close(alone, S)
    assert nothing.eq(0).all()
