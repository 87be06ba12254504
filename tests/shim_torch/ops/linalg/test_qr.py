"""QR: what the factors make in every mode, and the gradients that there are."""

import numpy as np
import pytest

import shim_torch as torch

SHAPES = [(3, 3), (2, 5, 3), (2, 3, 5)]


def _matrix(*shape: int, dtype: str = "complex128") -> torch.Tensor:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors(shape: tuple[int, ...], dtype: str) -> None:
    A, (m, n) = _matrix(*shape, dtype=dtype), shape[-2:]
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype in ("float32", "complex64") else {"rtol": 1e-10, "atol": 1e-10}
    for mode, k in (("reduced", min(m, n)), ("complete", m)):
        Q, R = torch.linalg.qr(A, mode)
        assert Q.shape == (*shape[:-2], m, k) and R.shape == (*shape[:-2], k, n)
        torch.testing.assert_close(Q @ R, A, **near)
        torch.testing.assert_close(Q.mH @ Q, torch.eye(k, dtype=A.dtype).expand(*shape[:-2], k, k), **near)
        assert R.tril(-1).eq(0).all()
    nothing, alone = torch.linalg.qr(A, "r")
    assert nothing.shape == (0,)
    torch.testing.assert_close(alone, torch.linalg.qr(A).R)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients(shape: tuple[int, ...]) -> None:
    A = _matrix(*shape, dtype="float64").requires_grad_()
    assert torch.autograd.gradcheck(torch.linalg.qr, (A,))


def test_gradients_that_there_are_not() -> None:
    A = _matrix(4, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="not computed when mode='r'"):
        torch.linalg.qr(A, "r").R.abs().sum().backward()
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"):
        torch.linalg.qr(A, "complete").R.abs().sum().backward()


def test_deprecated_qr_has_modes_by_some() -> None:
    A = _matrix(4, 2)
    assert torch.qr(A).Q.shape == (4, 2) and torch.qr(A, some=False).Q.shape == (4, 4)
    torch.testing.assert_close(torch.qr(A).R, torch.linalg.qr(A).R)
