"""Typed kernels of reductions, rows, layers and losses: what they take, and why they leave the rest to bodies."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional


def taken(operator: str, call) -> bool:
    """Whether one call ran a native kernel; its result is not looked at."""
    before = _core.operator_counts().get(operator, (0, 0))
    call()
    after = _core.operator_counts()[operator]
    assert sum(after) == sum(before) + 1, f"{operator} ran {sum(after) - sum(before)} times"
    return after[1] > before[1]


def declined(operator: str, call) -> list[str]:
    """The reasons that are counted once more after one call."""
    before = dict(_core.operator_declines().get(operator, {}))
    call()
    after = _core.operator_declines().get(operator, {})
    return [why for why, times in after.items() if times != before.get(why, 0)]


def test_one_name_serves_the_overloads_of_a_reduction():
    x = torch.rand(3, 4)
    for operator, call in (
        ("aten::prod", lambda: torch.prod(x)),
        ("aten::prod.dim_int", lambda: torch.prod(x, 1)),
        ("aten::max", lambda: torch.max(x)),
        ("aten::amax", lambda: torch.amax(x, (0, 1))),
        ("aten::any", lambda: torch.any(x)),
        ("aten::any.dim", lambda: torch.any(x, 0)),
        ("aten::any.dims", lambda: torch.any(x, (0, 1))),
        ("aten::count_nonzero", lambda: torch.count_nonzero(x)),
        ("aten::count_nonzero.dim_IntList", lambda: torch.count_nonzero(x, (0, 1))),
    ):
        assert taken(operator, call), operator
    assert not taken("aten::any.dims", lambda: torch.any(x, ())), "no dims are not all of them"


@pytest.mark.parametrize(
    ("operator", "call", "why"),
    [
        ("aten::sum.dim_IntList", lambda x: torch.sum(x, (0, -2)), "a dim named twice"),
        ("aten::argmax", lambda x: torch.argmax(x > 0), "bool tensors, which PyTorch refuses"),
        ("aten::linalg_vector_norm", lambda x: torch.linalg.vector_norm(x, 3), "an order other than 2"),
        ("aten::cumsum", lambda x: torch.cumsum(x, 5), "a dim out of range"),
        ("aten::histc", lambda x: torch.histc(x, 4, 2, 1), "a range that is none"),
        (
            "aten::tril_indices",
            lambda x: torch.tril_indices(2, 2, dtype=torch.int32),
            "a dtype, a layout or pinned memory",
        ),
        ("aten::bincount", lambda x: torch.bincount(torch.tensor([1]), torch.tensor([0.5])), "weights"),
        ("aten::_fft_c2c", lambda x: torch.ops.aten._fft_c2c(x, (0,), 0, True), "a dtype without transforms"),
    ],
)
def test_declines_say_why(operator, call, why):
    def run():
        try:
            call(torch.rand(3, 4))
        except (RuntimeError, IndexError):
            pass  # what the body refuses is its own test

    assert declined(operator, run) == [why]


def test_losses_keep_to_plain_tensors_without_a_history():
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    assert taken("aten::mse_loss", lambda: F.mse_loss(x, y))
    assert taken("aten::huber_loss", lambda: F.huber_loss(x, y, delta=0.5))
    recorded = x.clone().requires_grad_()
    assert not taken("aten::mse_loss", lambda: F.mse_loss(recorded, y))
    with torch.no_grad():
        assert taken("aten::mse_loss", lambda: F.mse_loss(recorded, y))


def test_an_inplace_kernel_gives_the_object_that_it_wrote():
    x, mask = torch.zeros(3, 4), torch.ones(3, 4, dtype=torch.bool)
    version = x._version
    assert x.masked_fill_(mask, 2) is x
    assert x.tolist() == [[2.0] * 4] * 3
    assert x._version == version + 1


@pytest.mark.parametrize("wrong", ["blank", "losses", "alpha"])
def test_ctc_alignments_backward_reads_no_memory_that_is_not_its_own(wrong):
    log_probs = torch.log_softmax(torch.rand(6, 2, 5), -1)
    targets, heard, labels = torch.tensor([[1, 2, 3], [2, 2, 1]]), torch.tensor([6, 5]), torch.tensor([3, 2])
    losses, alpha = torch.ops.shim.ctc_alignments(log_probs, targets, heard, labels, 0)
    blank = 1 << 20 if wrong == "blank" else 0
    losses = losses[:1] if wrong == "losses" else losses
    alpha = alpha.to(torch.float16) if wrong == "alpha" else alpha

    def run():
        try:
            torch.ops.shim.ctc_alignments_backward(
                torch.ones(2), log_probs, targets, heard, labels, losses, alpha, blank
            )
        except (RuntimeError, IndexError):
            pass

    assert declined("shim::ctc_alignments_backward", run), "the kernel took what it cannot read"
