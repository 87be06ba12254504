"""Typed kernels of CPU tensors: which calls they take, which they leave to bodies, and why."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def declined(call, operator: str) -> dict[str, int]:
    """How often each reason was counted under the operator while `call` ran."""
    before = dict(_core.operator_declines().get(operator, {}))
    call()
    after = _core.operator_declines().get(operator, {})
    return {why: times - before.get(why, 0) for why, times in after.items() if times != before.get(why, 0)}


def native_calls(call, operator: str) -> int:
    before = _core.operator_counts().get(operator, (0, 0))[1]
    call()
    return _core.operator_counts().get(operator, (0, 0))[1] - before


x = torch.tensor([[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]])


@pytest.mark.parametrize(
    ("call", "operator", "why"),
    [
        (
            lambda: torch.linalg.eigh(x[:, :2], "U"),
            "aten::linalg_eigh",
            "vectors of upper triangles, whose signs PyTorch chooses",
        ),
        (
            lambda: torch.tril_indices(2, 2, layout=torch.strided),
            "aten::tril_indices",
            "a dtype, a layout or pinned memory",
        ),
        (
            lambda: torch.nn.functional.pad(x.to(torch.complex128), (1, 1), "reflect"),
            "aten::pad",
            "elements of 16 bytes",
        ),
        (lambda: x.index_add(0, torch.tensor([1]), x[:1], alpha=2), "aten::index_add", "an alpha other than 1"),
        (lambda: torch.lerp(x.to(torch.complex64), x.to(torch.complex64), 1j), "aten::lerp.Scalar", "a complex number"),
        (lambda: x.round(decimals=40), "aten::round.decimals", "more than 30 decimals"),
    ],
)
def test_declines_have_reasons(call, operator, why):
    assert declined(call, operator) == {why: 1}


def test_what_another_kernel_is_for_is_not_counted():
    # Powers in general are another kernel's than squares.
    assert (
        declined(lambda: x**x, "aten::pow.Tensor_Tensor") == declined(lambda: x**2.7, "aten::pow.Tensor_Tensor") == {}
    )
    assert native_calls(lambda: (x**2, x**x, x**2.7), "aten::pow.Tensor_Tensor") == 3


@pytest.mark.parametrize(
    ("operator", "write"),
    [
        ("aten::lerp_.Scalar", lambda t: t.lerp_(x, 0.5)),
        ("aten::scatter_.value", lambda t: t.scatter_(1, torch.tensor([[0], [2]]), 7)),
        ("aten::uniform_", lambda t: t.uniform_(-1, 1)),
        ("aten::random_.from", lambda t: t.random_(2, 5)),
        ("aten::logit_", lambda t: t.logit_(0.1)),
    ],
)
def test_kernels_in_place_give_self(operator, write):
    t = torch.full((2, 3), 0.25)
    version = t._version
    results = []
    assert native_calls(lambda: results.append(write(t)), operator) == 1
    assert results[0] is t
    assert t._version > version


def test_overloads_of_one_name_get_kernels_of_their_own_schemas():
    t = torch.empty(4, dtype=torch.int64)
    calls = {
        "aten::random_": lambda: t.random_(),
        "aten::random_.to": lambda: t.random_(9),
        "aten::random_.from": lambda: t.random_(3, 9),
        "aten::randint": lambda: torch.randint(9, (4,)),
        "aten::randint.low": lambda: torch.randint(3, 9, (4,)),
    }
    for operator, call in calls.items():
        assert native_calls(call, operator) == 1, operator


def test_a_factory_of_another_device_is_no_cpu_kernels():
    assert declined(lambda: torch.rand(2, device="meta"), "aten::rand") == {}
    assert torch.rand(2, device="meta").device.type == "meta"


def test_cells_that_do_not_suit_the_gates_are_refused():
    gates, c, weight = torch.rand(3, 2, 8), torch.rand(2, 2), torch.rand(8, 2)
    backward = torch.ops.shim.lstm_layer_backward

    def with_too_few_cells():
        with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
            backward(None, None, gates, c, weight, torch.rand(1, 2, 2))

    why = "gates, cells and weights that do not suit each other"
    assert declined(with_too_few_cells, "shim::lstm_layer_backward") == {why: 1}
