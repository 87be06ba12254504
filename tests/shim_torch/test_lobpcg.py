"""torch.lobpcg: the largest or least eigenvalues of a symmetric matrix."""

import pytest

import shim_torch as torch


def test_extreme_eigenvalues_by_lobpcg():
    torch.manual_seed(0)
    q = torch.linalg.qr(torch.randn(40, 40, dtype=torch.float64))[0]
    values = torch.arange(1.0, 41.0, dtype=torch.float64)
    a = (q * values) @ q.mT
    found, vectors = torch.lobpcg(a, k=3)
    torch.testing.assert_close(found, values.flip(0)[:3], rtol=1e-6, atol=0)
    torch.testing.assert_close(a @ vectors, vectors * found, rtol=0, atol=1e-3)
    least, _ = torch.lobpcg(a, k=2, B=torch.eye(40, dtype=torch.float64) * 2, largest=False)
    torch.testing.assert_close(least, values[:2] / 2, rtol=1e-6, atol=0)
    with pytest.raises(ValueError, match="is smaller than 3 x the number of requested eigenpairs"):
        torch.lobpcg(torch.eye(4), k=2)
