"""An LSTM's layer, its CPU kernel against single steps, and a GRU's step; their gradients, twice."""

from __future__ import annotations

import pytest

import shim_torch as torch


def layer(bias: bool, steps: int = 4, batch: int = 3, n: int = 5):
    torch.manual_seed(0)
    shapes = [(steps, batch, 4 * n), (batch, n), (batch, n), (4 * n, n), *([(4 * n,)] if bias else [])]
    return [torch.randn(*s, dtype=torch.float64).mul(0.7).requires_grad_() for s in shapes]


def run(*tensors):
    return torch.ops.shim.lstm_layer(*tensors, *([None] if len(tensors) == 4 else []))


@pytest.mark.parametrize("bias", [True, False])
def test_steps(bias):
    gates, h, c, weight, *more = layer(bias)
    outputs, cells, _ = run(gates, h, c, weight, *more)
    for k in range(gates.size(0)):
        h, c, _ = torch.ops.shim.lstm_step(gates[k], torch.nn.functional.linear(h, weight, *more), c)
        assert torch.allclose(outputs[k], h) and torch.allclose(cells[k], c)


@pytest.mark.parametrize("bias", [True, False])
def test_gradients(bias):
    tensors = layer(bias)
    assert torch.autograd.gradcheck(lambda *t: run(*t)[:2], tensors)
    assert torch.autograd.gradcheck(lambda *t: run(*t)[1], tensors)
    assert torch.autograd.gradgradcheck(lambda *t: run(*t)[0], tensors)


@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True}, {"num_layers": 2, "bias": False}, {"batch_first": True}]
)
def test_module_is_what_its_cells_give(options):
    torch.manual_seed(0)
    module, x = torch.nn.LSTM(4, 6, **options), torch.randn(5, 3, 4)
    y, (h, c) = module(x)
    with torch.no_grad():
        assert all(torch.equal(a, b) for a, b in zip((y, h, c), (lambda o: (o[0], *o[1]))(module(x)), strict=True))
    if options in ({}, {"batch_first": True}):
        cell = torch.nn.LSTMCell(4, 6)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).data = getattr(module, f"{name}_l0").data
        state = None
        for k in range(x.size(1) if options else x.size(0)):
            state = cell(x[:, k] if options else x[k], state)
            assert torch.allclose(y[:, k] if options else y[k], state[0], atol=1e-6)
        assert torch.allclose(c[0], state[1], atol=1e-6)


def test_step_of_a_gru():
    torch.manual_seed(0)
    cell = torch.nn.GRUCell(4, 6, dtype=torch.float64)
    x, h = (torch.randn(3, n, dtype=torch.float64, requires_grad=True) for n in (4, 6))
    gates = torch.nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
    more = torch.nn.functional.linear(h, cell.weight_hh, cell.bias_hh)
    assert torch.allclose(torch.ops.shim.gru_step(gates, more, h)[0], cell(x, h))
    tensors = [t.detach().requires_grad_() for t in (gates, more, h)]
    assert torch.autograd.gradcheck(lambda *t: torch.ops.shim.gru_step(*t)[0], tensors)
    assert torch.autograd.gradgradcheck(lambda *t: torch.ops.shim.gru_step(*t)[0], tensors)
    assert torch.autograd.gradcheck(lambda g, m: torch.ops.shim.gru_step(g, m, h.detach())[0], tensors[:2])
