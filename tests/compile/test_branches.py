"""torch.cond and while_loop within compiled functions."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._higher_order_ops import while_loop


def test_branches_and_loops_as_operators_break_no_graph():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda t: t.sin() * 2, lambda t: t.cos() - 1, (x,)) + 1

    def loop(x):
        return while_loop(lambda t: t.sum() < 100, lambda t: (t * 2,), (x,))[0] - 1

    for f in (branch, loop):
        compiled = torch.compile(f, fullgraph=True)
        for i in range(6):
            x = torch.full((3,), -1.0 if i % 2 and f is branch else i + 1.0, requires_grad=True)
            expected, got = f(x), compiled(x)
            torch.testing.assert_close(got, expected)
            (gradient,), (wanted,) = torch.autograd.grad(got.sum(), x), torch.autograd.grad(expected.sum(), x)
            torch.testing.assert_close(gradient, wanted)
    for pred, text in (
        (torch.ones(2), "single-element tensor, but got"),
        ("a", "tensor, but got a"),
        (None, "got None"),
    ):
        with pytest.raises(RuntimeError, match=f"Expected pred to be bool or .*{text}"):
            torch.cond(pred, lambda: 1, lambda: 2)
