"""Variances and deviations: against NumPy, as one node with their means, without degrees of freedom."""

import math
from typing import Any

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import FLOATS, LIMIT, close, drawn, natively, numpy

X = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])


def test_no_degrees_of_freedom():
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0"):
        assert math.isnan(torch.var(torch.tensor([1.0])))


def test_positional_unbiased_and_keepdim():
    assert X.var(0, True, True).tolist() == [[4.5, 4.5, 4.5]]
    assert torch.std(X, 1, False).shape == (2,)


def test_var_over_a_dim_takes_an_out():
    out = torch.empty(0)
    assert torch.var(X, 0, True, False, out=out) is out and out.tolist() == [4.5, 4.5, 4.5]


def test_hooks_of_the_node_get_both_gradients():
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    variance, mean = torch.var_mean(x, dim=0)
    mean.grad_fn.register_prehook(lambda grads: tuple(g * 2 for g in grads))
    (variance + mean).sum().backward()
    assert torch.allclose(x.grad[0], torch.full((3,), 2 * (1 / 3 - 3.0)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (4, 3, 6), (70, 41), (2, 70000)])
def test_statistics(shape: Any, dtype: Any) -> None:
    x = drawn(shape, dtype)
    t, wide = torch.from_numpy(x), x.astype(np.float64)
    for dim in (None, 0, -1):
        close(natively(lambda d=dim: t.var(d)), wide.var(dim, ddof=1), dtype)
        close(natively(lambda d=dim: t.std(d, correction=0)), wide.std(dim), dtype)
        v, m = natively(lambda d=dim: torch.var_mean(t, d))
        close(v, wide.var(dim, ddof=1), dtype)
        close(m, wide.mean(dim), dtype)
        assert numpy(natively(lambda d=dim: t.argmax(d))).tolist() == x.astype(np.float64).argmax(dim).tolist()
        assert numpy(natively(lambda d=dim: t.argmin(d))).tolist() == x.astype(np.float64).argmin(dim).tolist()
    for dim in (0, -1):
        values, index = natively(lambda d=dim: t.max(d, keepdim=True))
        np.testing.assert_array_equal(numpy(values).astype(np.float64), wide.max(dim, keepdims=True))
        np.testing.assert_array_equal(numpy(index), wide.argmax(dim, keepdims=True))
        expected = np.log(np.exp(wide).sum(dim))
        close(natively(lambda d=dim: t.logsumexp(d)), expected, dtype)
        got, sums = numpy(natively(lambda d=dim: t.cumsum(d))).astype(np.float64), wide.cumsum(dim)
        np.testing.assert_allclose(got, sums, rtol=LIMIT[np.dtype(dtype).name], atol=LIMIT[np.dtype(dtype).name] * 20)
    assert natively(lambda: t.max()).item() == wide.max()
    assert natively(lambda: t.min()).item() == wide.min()


def test_std_mean_with_unbiased():
    x = torch.tensor([[1.0, 2.0, 6.0]])
    std, mean = torch.std_mean(x, 1, unbiased=False)
    assert mean.item() == 3 and abs(std.item() - math.sqrt(14 / 3)) < 1e-6
    assert torch.var_mean(x, unbiased=True)[0].item() == 7
    assert torch.var_mean(x, (0, 1), unbiased=False, keepdim=True)[0].shape == (1, 1)
