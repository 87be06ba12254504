"""The cells of LSTM and GRU layers after their products: gates to states, and back."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.aten_declare import aten, pulled
from shim_torch._impl.table.calls import torch


def _sum(input_gates: Any, hidden_gates: Any, input_bias: Any, hidden_bias: Any) -> Any:
    total = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        total = total if bias is None else total + bias
    return total


def _lstm(gates: Any, cx: Any) -> tuple[Any, Any, Any]:
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


@aten("_thnn_fused_lstm_cell")
def _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias):
    """Gates (N, 4H) in the order input, forget, cell, output: hy, cy and the gates after their functions."""
    return _lstm(_sum(input_gates, hidden_gates, input_bias, hidden_bias), cx)


@aten("_thnn_fused_lstm_cell_backward_impl")
def _thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    i, f, g, o = workspace.chunk(4, 1)
    shape = torch.tanh(cy)
    dc = torch.zeros_like(cy) if grad_cy is None else grad_cy
    do = torch.zeros_like(o)
    if grad_hy is not None:
        dc = dc + grad_hy * o * (1 - shape * shape)
        do = grad_hy * shape * o * (1 - o)
    gates = torch.cat([dc * g * i * (1 - i), dc * cx * f * (1 - f), dc * i * (1 - g * g), do], 1)
    return gates, dc * f, gates.sum(0) if has_bias else None


@aten("_thnn_fused_lstm_cell_backward")
def _thnn_fused_lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    gates, grad_cx, bias = _thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias)
    return gates, gates, grad_cx, bias, bias


@aten("_thnn_differentiable_lstm_cell_backward")
def _thnn_differentiable_lstm_cell_backward(
    grad_hy, grad_cy, input_gates, hidden_gates, input_bias, hidden_bias, cx, cy
):
    def again(gates: Any, c: Any) -> Any:
        return _lstm(gates, c)[:2]

    given = [torch.zeros_like(cx) if g is None else g for g in (grad_hy, grad_cy)]
    gates, grad_cx = pulled(again, (_sum(input_gates, hidden_gates, input_bias, hidden_bias), cx), given)
    bias = gates.sum(0) if input_bias is not None else None
    return gates, gates, grad_cx, bias, bias


def _gru(input_gates: Any, hidden_gates: Any, hx: Any, input_bias: Any, hidden_bias: Any) -> tuple[Any, Any]:
    left = input_gates if input_bias is None else input_gates + input_bias
    right = hidden_gates if hidden_bias is None else hidden_gates + hidden_bias
    (ir, ii, inew), (hr, hi, hnew) = left.chunk(3, 1), right.chunk(3, 1)
    r, i = (ir + hr).sigmoid(), (ii + hi).sigmoid()
    new = (inew + r * hnew).tanh()
    return new + i * (hx - new), torch.cat([r, i, new, hx, hnew], 1)


@aten("_thnn_fused_gru_cell")
def _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias):
    """Gates (N, 3H) in the order reset, input, new: hy, and what the gradient needs (N, 5H)."""
    return _gru(input_gates, hidden_gates, hx, input_bias, hidden_bias)


@aten("_thnn_fused_gru_cell_backward")
def _thnn_fused_gru_cell_backward(grad_hy, workspace, has_bias):
    r, i, new, hx, hnew = workspace.chunk(5, 1)
    gi = grad_hy * (hx - new) * i * (1 - i)
    gn = grad_hy * (1 - i) * (1 - new * new)
    gr = gn * hnew * r * (1 - r)
    left, right = torch.cat([gr, gi, gn], 1), torch.cat([gr, gi, gn * r], 1)
    return left, right, grad_hy * i, left.sum(0) if has_bias else None, right.sum(0) if has_bias else None


@aten("_thnn_differentiable_gru_cell_backward")
def _thnn_differentiable_gru_cell_backward(grad_hy, input_gates, hidden_gates, hx, input_bias, hidden_bias):
    def again(left: Any, right: Any, h: Any) -> Any:
        return _gru(left, right, h, input_bias, hidden_bias)[0]

    left, right, grad_hx = pulled(again, (input_gates, hidden_gates, hx), grad_hy)
    return (
        left,
        right,
        grad_hx,
        None if input_bias is None else left.sum(0),
        None if hidden_bias is None else right.sum(0),
    )
