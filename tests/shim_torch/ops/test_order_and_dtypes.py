"""Strides of results, refused dtypes and masked reductions as PyTorch's CPU kernels have them; the values are stored beside."""

import dtypes_cases
import order_cases
import pytest
from expressions import difference, outcome, stored

import shim_torch


@pytest.mark.parametrize("expression", order_cases.CASES)
def test_memory_as_pytorch(expression):
    found = difference(outcome(shim_torch, order_cases, expression), stored("order_cases")[expression])
    assert found is None, found


@pytest.mark.parametrize("expression", dtypes_cases.CASES)
def test_dtypes_as_pytorch(expression):
    found = difference(outcome(shim_torch, dtypes_cases, expression), stored("dtypes_cases")[expression])
    assert found is None, found


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("stable", [None, True])
def test_sorted_lies_as_what_was_sorted(dim, stable):
    wide = shim_torch.randn(3, 4, 5)
    for t in (wide.permute(2, 0, 1), wide[:, ::2].transpose(0, 2), wide[:, :1].expand(3, 4, 5)):
        found = t.sort(dim) if stable is None else t.sort(dim=dim, stable=stable)
        order = sorted(range(3), key=lambda d: -t.stride(d)) if 0 not in t.stride() else [0, 1, 2]
        dense = shim_torch.empty([t.size(d) for d in order]).permute([order.index(d) for d in range(3)]).stride()
        assert found.values.stride() == found.indices.stride() == dense
        assert shim_torch.equal(found.values, t.contiguous().sort(dim).values)
        assert shim_torch.equal(t.gather(dim, found.indices), found.values)
