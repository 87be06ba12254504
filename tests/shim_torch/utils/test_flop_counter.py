"""The operations of matrix products, counted by module; the numbers are PyTorch's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.utils.flop_counter import (
    FlopCounterMode,
    convert_num_with_suffix,
    get_suffix_str,
    register_flop_formula,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)
from shim_torch.utils.module_tracker import ModuleTracker

aten = torch.ops.aten


def _net():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.ReLU(),
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4 * 36, 7), torch.nn.Linear(7, 5)),
    )


@pytest.mark.parametrize(("of_input", "backward", "total"), [(True, 31104, 59172), (False, 15552, 43620)])
def test_forward_and_backward_by_module(of_input, backward, total):
    net = _net()
    with FlopCounterMode(display=False) as counter:
        net(torch.randn(2, 3, 8, 8, requires_grad=of_input)).sum().backward()
    assert counter.get_total_flops() == total
    counts = counter.get_flop_counts()
    whole = {aten.convolution: 15552, aten.addmm: 4172, aten.mm: 8344, aten.convolution_backward: backward}
    assert counts["Global"] == whole and counts["Sequential"] == whole
    assert counts["Sequential.0"] == {aten.convolution: 15552, aten.convolution_backward: backward}
    assert counts["Sequential.2.1"] == {aten.addmm: 4032, aten.mm: 8064}
    assert counts["Sequential.2.2"] == {aten.addmm: 140, aten.mm: 280}


def test_weight_alone_counts_as_its_backward():
    weight = torch.randn(6, 3, 4, 4, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        torch.conv2d(torch.randn(2, 3, 6, 6), weight, padding=1).sum().backward()
    assert counter.get_flop_counts()["Global"] == {aten.convolution: 28800, aten.convolution_backward: 28800}


def test_own_formulas_and_an_empty_count():
    with FlopCounterMode(display=False, custom_mapping={aten.add: lambda *args, out_shape: 5}) as counter:
        torch.ones(4, 5) + torch.ones(4, 5)
    assert counter.get_total_flops() == 5

    def count(*args, out_val):
        return out_val.numel()

    count._get_raw = True
    with FlopCounterMode(display=False, custom_mapping={aten.add: count}) as counter:
        torch.ones(4, 5) + torch.ones(4, 5)
    assert counter.get_total_flops() == 20
    with FlopCounterMode(display=False) as counter:
        torch.ones(3).cos()
    assert counter.get_total_flops() == 0


def test_attention():
    assert sdpa_flop_count((2, 32, 128, 64), (2, 8, 128, 64), (2, 8, 128, 64)) == 268435456
    with pytest.raises(AssertionError):
        sdpa_flop_count((2, 32, 128, 64), (2, 5, 128, 64), (2, 5, 128, 64))
    q, k, v = (torch.randn(2, 2, 8, 4) for _ in range(3))
    with FlopCounterMode(display=False) as counter:
        torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert counter.get_total_flops() == 2 * 2 * 2 * (8 * 4 * 8) * 2


def test_numbers():
    assert (get_suffix_str(1200004172), convert_num_with_suffix(1200004172, "M")) == ("M", "1200.004M")
    assert (get_suffix_str(59172), convert_num_with_suffix(59172, "K")) == ("K", "59.172K")


def test_module_tracker_in_forward_and_backward():
    seen = []

    class Probe(torch.nn.Module):
        def forward(self, x):
            seen.append((set(tracker.parents), tracker.is_bw))
            x = x * 2
            if x.requires_grad:
                x.register_hook(lambda g: seen.append((set(tracker.parents), tracker.is_bw)))
            return x + 1

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), Probe())
    with ModuleTracker() as tracker:
        net(torch.ones(1, 2)).sum().backward()
        assert tracker.parents == {"Global"}
    assert seen == [({"Global", "Sequential", "Sequential.1"}, False), ({"Global", "Sequential", "Sequential.1"}, True)]


def test_shapes_of_attention_that_do_not_fit():
    q, k, v = (2, 4, 8, 16), (2, 2, 7, 16), (2, 2, 7, 32)
    assert (sdpa_flop_count(q, k, v), sdpa_backward_flop_count((2, 4, 8, 32), q, k, v)) == (43008, 100352)
    for function, shapes, text in [
        (
            sdpa_flop_count,
            (q, k, (1, 2, 7, 32)),
            r"incompatible: q=\(2, 4, 8, 16\), k=\(2, 2, 7, 16\), v=\(1, 2, 7, 32\)",
        ),
        (
            sdpa_flop_count,
            (q, (2, 3, 7, 16), (2, 3, 7, 32)),
            r"query heads \(4\) must be a multiple of key/value heads \(3\)",
        ),
        (
            sdpa_backward_flop_count,
            ((9, 4, 8, 32), q, k, v),
            "sdpa_backward_flop_count: batch/heads mismatch among tensors",
        ),
        (sdpa_backward_flop_count, ((2, 4, 8, 3), q, k, v), "grad_out/value/key/query shapes are incompatible"),
    ]:
        with pytest.raises(AssertionError, match=text):
            function(*shapes)


def test_formulas_are_registered_once():
    with pytest.raises(ValueError, match="got 3 which is of type <class 'int'>"):
        register_flop_formula([3])(len)
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(aten.mm)(len)
