"""The fused cells that PyTorch has on CUDA alone: they are LSTMCell and GRUCell after their products, with their gradients."""

import pytest

import shim_torch as torch

from ..expressions import pattern

aten, N, H = torch.ops.aten, 3, 4


def given(gates, biased):
    """Gates of input and state, the state, and biases, as leaves in double."""
    shapes = [(N, gates * H), (N, gates * H), (N, H), *([(gates * H,)] * 2 if biased else [])]
    return [pattern(torch, *s, seed=i + 1).double().requires_grad_() for i, s in enumerate(shapes)]


def lstm(left, right, cx, *biases):
    """By the definition: input, forget, cell and output gate."""
    i, f, g, o = (left + right + sum(biases)).chunk(4, 1)
    cy = f.sigmoid() * cx + i.sigmoid() * g.tanh()
    return o.sigmoid() * cy.tanh(), cy


def gru(left, right, hx, *biases):
    """By the definition: reset and update gate, new state."""
    (lr, lz, ln), (rr, rz, rn) = ((t + b).chunk(3, 1) for t, b in zip((left, right), biases or (0, 0), strict=True))
    z = (lz + rz).sigmoid()
    return (1 - z) * (ln + (lr + rr).sigmoid() * rn).tanh() + z * hx


@pytest.mark.parametrize("biased", [False, True])
def test_lstm_cell(biased):
    leaves = given(4, biased)
    hy, cy = lstm(*leaves)
    plain = [t.detach() for t in leaves]
    found = aten._thnn_fused_lstm_cell(*plain)
    torch.testing.assert_close(found[:2], (hy.detach(), cy.detach()))
    gh, gc = pattern(torch, N, H, seed=8).double(), pattern(torch, N, H, seed=9).double()
    wanted = torch.autograd.grad((hy, cy), leaves, (gh, gc))
    back = aten._thnn_fused_lstm_cell_backward(gh, gc, plain[2], found[1], found[2], biased)
    torch.testing.assert_close(back[:3], wanted[:3])
    assert (back[3] is None) is not biased
    if biased:
        torch.testing.assert_close(back[3:], wanted[3:])
    inner = aten._thnn_fused_lstm_cell_backward_impl(gh, gc, plain[2], found[1], found[2], biased)
    torch.testing.assert_close(inner[:2], (wanted[0], wanted[2]))
    left, right, cx, *biases = plain
    again = aten._thnn_differentiable_lstm_cell_backward(gh, gc, left, right, *(biases or (None, None)), cx, found[1])
    torch.testing.assert_close(again[:3], wanted[:3])


@pytest.mark.parametrize("missing", [0, 1])
def test_an_absent_gradient_of_the_lstm_cell_is_zero(missing):
    leaves = given(4, False)
    outs = lstm(*leaves)
    g = pattern(torch, N, H, seed=8).double()
    wanted = torch.autograd.grad(outs[1 - missing], leaves, g)
    plain = [t.detach() for t in leaves]
    _, cy, workspace = aten._thnn_fused_lstm_cell(*plain)
    grads = (None, g) if missing == 0 else (g, None)
    back = aten._thnn_fused_lstm_cell_backward(*grads, plain[2], cy, workspace, False)
    torch.testing.assert_close(back[:3], wanted)


@pytest.mark.parametrize("biased", [False, True])
def test_gru_cell(biased):
    leaves = given(3, biased)
    hy = gru(*leaves)
    plain = [t.detach() for t in leaves]
    found, workspace = aten._thnn_fused_gru_cell(*plain)
    torch.testing.assert_close(found, hy.detach())
    assert workspace.shape == (N, 5 * H)
    g = pattern(torch, N, H, seed=8).double()
    wanted = torch.autograd.grad(hy, leaves, g)
    back = aten._thnn_fused_gru_cell_backward(g, workspace, biased)
    torch.testing.assert_close(back[:3], wanted[:3])
    if biased:
        torch.testing.assert_close(back[3:], wanted[3:])
    again = aten._thnn_differentiable_gru_cell_backward(g, *plain[:3], *(plain[3:] or (None, None)))
    torch.testing.assert_close(again[:3], wanted[:3])


def test_the_differentiable_gradients_can_be_differentiated():
    leaves = given(3, True)
    g = pattern(torch, N, H, seed=8).double().requires_grad_()
    call = lambda g, *t: aten._thnn_differentiable_gru_cell_backward(g, *t)[0]
    assert torch.autograd.gradcheck(call, (g, *leaves))
