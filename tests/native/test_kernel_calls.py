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


X, PAIRS, WAVES = torch.zeros(2, 3, 4), torch.zeros(3, 2), torch.zeros(3, dtype=torch.complex64)
VIEWS = {
    "view": lambda: X.view(6, 4),
    "alias": lambda: torch.ops.aten.alias(X),
    "expand": lambda: X.expand(5, 2, 3, 4),
    "squeeze": lambda: X.squeeze(),
    "squeeze.dim": lambda: X.squeeze(0),
    "squeeze.dims": lambda: X.squeeze((0, 1)),
    "unsqueeze": lambda: X.unsqueeze(-1),
    "transpose.int": lambda: X.transpose(0, -1),
    "t": lambda: PAIRS.t(),
    "permute": lambda: X.permute(2, 0, 1),
    "select.int": lambda: X.select(1, -1),
    "slice.Tensor": lambda: torch.ops.aten.slice.Tensor(X, 1, None, 2),
    "as_strided": lambda: X.as_strided((2, 2), (1, 2)),
    "diagonal": lambda: X.diagonal(0, 1, 2),
    "unfold": lambda: X.unfold(2, 2, 1),
    "view_as_real": lambda: torch.view_as_real(WAVES),
    "view_as_complex": lambda: torch.view_as_complex(PAIRS),
}


@pytest.mark.parametrize("operator", VIEWS)
@pytest.mark.parametrize("grad", [False, True])
def test_views_are_kernels(operator, grad):
    name, taken = f"aten::{operator}", _core.operator_counts
    with torch.set_grad_enabled(grad):
        before = taken().get(name, (0, 0))
        made = VIEWS[operator]()
        assert taken()[name] == (before[0], before[1] + 1)
    base, before = made._base, made.clone()
    assert made._is_view() and any(base is t for t in (X, PAIRS, WAVES))
    base.add_(1)
    assert (made != before).any(), "not the base's memory"
    base.sub_(1)


def test_empty_is_a_kernel_where_nothing_is_to_be_filled():
    name = "aten::empty.memory_format"
    before = _core.operator_counts().get(name, (0, 0))
    made = torch.empty(2, 3, 4, 5, dtype=torch.int16, memory_format=torch.channels_last, requires_grad=False)
    assert _core.operator_counts()[name] == (before[0], before[1] + 1)
    assert made.stride() == (60, 1, 15, 3) and made.dtype == torch.int16 and made._version == 0
    assert torch.empty((), device="cpu:0").device == torch.device("cpu") and torch.empty(0).dtype == torch.float32
    with torch.device("meta"):
        assert torch.empty(2).is_meta
    why = "a sparse layout"
    times = reasons(name).get(why, 0)
    assert torch.empty(2, layout=torch.sparse_coo).layout == torch.sparse_coo
    assert reasons(name)[why] == times + 1


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: torch.empty(-1), "Trying to create tensor with negative dimension -1: [-1]"),
        (lambda: torch.empty(2, memory_format=torch.preserve_format), "unsupported memory format Preserve"),
        (
            lambda: torch.empty(2, memory_format=torch.channels_last),
            "required rank 4 tensor to use channels_last format",
        ),
        (lambda: X.view(-2, 12), "invalid shape dimension -2 at index 0 of shape [-2, 12]"),
        (lambda: X.reshape(7), "shape '[7]' is invalid for input of size 24"),
        (lambda: X.t(), "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    ],
)
def test_refusals_of_views_and_new_tensors_are_pytorchs(call, text):
    with pytest.raises(RuntimeError) as refused:
        call()
    assert str(refused.value).splitlines()[0] == text
