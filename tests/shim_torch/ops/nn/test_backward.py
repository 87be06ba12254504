"""Gradients that are operators against PyTorch 2.13, against those that backward gives, and differentiated themselves."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import backward_cases as cases

F, aten = torch.nn.functional, torch.ops.aten


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


SMOOTH = {
    "silu": (F.silu, aten.silu_backward),
    "gelu": (F.gelu, aten.gelu_backward),
    "mish": (F.mish, aten.mish_backward),
    "softplus": (F.softplus, lambda g, x: aten.softplus_backward(g, x, 1, 20)),
    "logsigmoid": (F.logsigmoid, lambda g, x: aten.log_sigmoid_backward(g, x, x.new_empty(0))),
    "logit": (
        lambda x: torch.logit(x.sigmoid()),
        lambda g, x: aten.sigmoid_backward(aten.logit_backward(g, x.sigmoid()), x.sigmoid()),
    ),
    "glu": (lambda x: F.glu(x, 0), lambda g, x: aten.glu_backward(g, x, 0)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_operator_is_the_functions_gradient(name):
    call, backward = SMOOTH[name]
    x = pattern(torch, 4, 3).double().requires_grad_()
    y = call(x)
    g = pattern(torch, *y.shape, seed=2).double().requires_grad_()
    torch.testing.assert_close(backward(g, x), torch.autograd.grad(y, x, g)[0])
    assert torch.autograd.gradcheck(backward, (g, x))


def test_dropped_values_are_those_of_the_mask():
    x = torch.ones(2000)
    kept, mask = torch.native_dropout(x, 0.25, True)
    assert mask.dtype == torch.bool and 0.68 < mask.float().mean() < 0.82
    torch.testing.assert_close(kept, mask / 0.75)
