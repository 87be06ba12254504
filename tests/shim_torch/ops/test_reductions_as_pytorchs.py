"""Reductions at the edges of their dtypes, as PyTorch answers."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


@pytest.mark.devices("cpu", "cuda")
def test_prod_as_bool(device):
    assert torch.prod(torch.tensor([1, 0, 2]), dtype=torch.bool).item() is False
    assert torch.prod(torch.tensor([], dtype=torch.bool), dtype=torch.bool).item() is True
    rows = torch.tensor([[True, False], [True, True]])
    assert rows.prod(1, dtype=torch.bool).tolist() == [False, True] and rows.prod(0, True, dtype=torch.bool).shape == (
        1,
        2,
    )
    assert rows.prod().dtype == torch.int64


@pytest.mark.devices("cpu")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_an_infinite_part_of_a_complex_mean(device, dtype):
    x = torch.tensor([complex(math.inf, 1), complex(1, 2)], dtype=dtype)
    for mean in (x.mean(), x.mean(0), x.reshape(2, 1).mean(0, keepdim=True)[0, 0]):
        assert mean.real.item() == math.inf and math.isnan(mean.imag.item())
    assert torch.tensor([1 + 2j, 3 - 4j], dtype=dtype).mean().item() == 2 - 1j
    assert torch.isnan(torch.empty(0, dtype=dtype).mean().real)


@pytest.mark.devices("cpu", "cuda")
def test_the_deprecated_aminmax(device):
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    low, high = torch._aminmax(x)
    assert (low.item(), high.item()) == (1, 5)
    low, high = torch._aminmax(x, 1)
    assert low.tolist() == [1, 2] and high.tolist() == [3, 5]


def test_edges_and_weights_of_histograms_are_checked():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="bins tensor should have one dimension, but got 2 dimensions"):
        torch.histogram(x, x)
    with pytest.raises(RuntimeError, match="bins tensor should have at least 1 element"):
        torch.histogram(torch.ones(0), torch.ones(0))
    with pytest.raises(RuntimeError, match=r"but got input\(float\), and weight\(double\)"):
        torch.histogram(x, 1, weight=x.double())
    with pytest.raises(RuntimeError, match=r"input with shape \[4, 1\] and weight with shape \[1\]"):
        torch.histogram(x, 1, weight=torch.ones(1))


def test_the_reference_of_prod_takes_several_dims():
    import shim_torch._refs as refs

    x = torch.arange(1.0, 25.0).reshape(2, 3, 4)
    torch.testing.assert_close(refs.prod(x, [0, 2], True), x.prod(2, True).prod(0, True))
    torch.testing.assert_close(refs.prod(x, [-1]), x.prod(2))
    assert refs.prod(torch.tensor([2, 3]), dtype=torch.float64).item() == 6.0 and refs.prod(x, []).dim() == 0
    assert refs.prod(x, keepdim=True).shape == refs.prod(x, [], keepdim=True).shape == (1, 1, 1)
    with pytest.raises(RuntimeError, match="duplicate value in the list of dims"):
        refs.prod(x, (0, -3))
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)"):
        refs.prod(x, (0, 3))


def test_references_take_out_and_keepdim_without_a_dim():
    from shim_torch import _refs

    x = torch.tensor([[1.0, float("inf"), float("nan")]])
    assert _refs.mean(x[:, :1], keepdim=True).tolist() == [[1.0]] and _refs.sum(x, keepdim=True).shape == (1, 1)
    for name in ("isinf", "isnan"):
        out = torch.empty(1, 3, dtype=torch.bool)
        assert getattr(_refs, name)(x, out=out) is out and torch.equal(out, getattr(torch, name)(x))
