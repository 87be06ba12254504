"""The loops that scans are compared with."""

import pytest

import shim_torch as torch
from shim_torch._higher_order_ops.associative_scan import _fake_associative_scan, associative_scan
from shim_torch._higher_order_ops.map import _fake_map
from shim_torch._higher_order_ops.map import map as mapped
from shim_torch._higher_order_ops.scan import _fake_scan, scan


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_the_loops_agree(dim, reverse):
    x = torch.arange(12.0).reshape(3, 4)
    expected = x.flip(dim).cumsum(dim).flip(dim) if reverse else x.cumsum(dim)
    for run in (associative_scan, _fake_associative_scan):
        torch.testing.assert_close(run(lambda a, b: a + b, x, dim, reverse=reverse), expected)
    carry, ys = _fake_scan(lambda c, v: (c + v, c + v), torch.zeros(x.select(dim, 0).shape), x, dim, reverse)
    torch.testing.assert_close(ys, expected)
    torch.testing.assert_close(carry, x.sum(dim))
    if dim == 0:
        torch.testing.assert_close(scan(lambda c, v: (c + v, c + v), torch.zeros(4), x, reverse=reverse)[1], expected)


def test_map_is_the_function_and_a_module():
    assert torch._higher_order_ops.map is mapped
    assert _fake_map(lambda v, k: v * k, torch.arange(3.0), 2).tolist() == [0.0, 2.0, 4.0]
