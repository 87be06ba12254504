"""Cross products and vecdot, against NumPy."""

import numpy as np
import pytest

import shim_torch as torch


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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_vecdot(dtype):
    r = np.random.default_rng(0)
    x, y = (
        (r.standard_normal((4, 3)) + (1j * r.standard_normal((4, 3)) if dtype.startswith("c") else 0)).astype(dtype)
        for _ in range(2)
    )
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    for dim in (0, -1):
        wanted = (x.conj() * y).sum(dim)
        np.testing.assert_allclose(torch.linalg.vecdot(a, b, dim=dim).numpy(), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(torch.linalg.vecdot(a[0], b[0]).numpy(), np.vdot(x[0], y[0]), rtol=1e-5)
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor as input. Got Long"):
        torch.linalg.vecdot(torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64))
