"""Typed kernels: what an operator's call finds of them, and why they leave calls to bodies."""

from __future__ import annotations

import pytest

import shim_torch as torch
from compat import torch_proxy_status
from shim_torch._impl.native import _core


def reasons(operator: str) -> dict[str, int]:
    return dict(_core.operator_declines().get(operator, {}))


def test_each_overload_gets_the_kernel_that_fits_its_schema():
    x = torch.tensor([[3.0, 1.0, 2.0]])
    before = _core.operator_counts()
    plain, stable = torch.sort(x, dim=1), torch.sort(x, stable=True, dim=1)
    assert plain.indices.tolist() == stable.indices.tolist() == [[1, 2, 0]]
    after = _core.operator_counts()
    for name in ("aten::sort", "aten::sort.stable"):
        assert after[name][1] == before.get(name, (0, 0))[1] + 1, f"{name} did not run a kernel"


def test_a_decline_is_counted_with_its_reason():
    why = "bool tensors, which PyTorch refuses"
    before = reasons("aten::kthvalue").get(why, 0)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
            torch.kthvalue(torch.tensor([True, False]), 1)
    assert reasons("aten::kthvalue")[why] == before + 3
    assert torch_proxy_status()["declined"]["aten::kthvalue"][why] == before + 3


def test_a_call_that_a_kernel_takes_declines_nothing():
    before = reasons("aten::median.dim")
    torch.median(torch.rand(4, 5), 1)
    assert reasons("aten::median.dim") == before


def test_values_beyond_a_parameters_type_are_no_kernels():
    # An index that no int64 holds is refused by the binding; a number in a list's place is a list of one.
    with pytest.raises((TypeError, RuntimeError, OverflowError, ValueError)):
        torch.topk(torch.rand(3), 1 << 70)
    assert torch.sort(torch.tensor([2, 1]), dim=-1).values.tolist() == [1, 2]
