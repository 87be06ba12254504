"""Operators of our own (``torch.ops.shim``) for recurrent steps, one kernel each; bodies are their references."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import op

_SHIM = {"function": False}


def _by_steps(g0: Any, g1: Any, gates: Any, more: Any, cell: Any) -> tuple[Any, Any]:
    """The gradients in tensor operations, from the inputs, so that they can be differentiated."""
    i, f, g, o = (gates + more).chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    t = (f * cell + i * g).tanh()
    zero = torch.zeros_like(t)
    gh, through = (zero if g0 is None else g0), (zero if g1 is None else g1)
    through = through + gh * o * (1 - t * t)
    parts = (
        through * g * i * (1 - i),
        through * cell * f * (1 - f),
        through * i * (1 - g * g),
        gh * t * o * (1 - o),
    )
    return torch.cat(parts, -1), through * f


def _grads(g0, g1, gates, more, cell, result1, result2):
    if _core.is_grad_enabled():
        grad_gates, grad_cell = _by_steps(g0, g1, gates, more, cell)
    else:
        grad_gates, grad_cell = shim.lstm_step_backward(g0, g1, result2, cell, result1)
    return grad_gates, grad_gates, grad_cell


@op(
    "shim::lstm_step(Tensor gates, Tensor more, Tensor cell) -> (Tensor, Tensor, Tensor)",
    shape=lambda gates, cell: [cell.shape, cell.shape, gates.shape],
    dtype=lambda cell: (cell.dtype, [cell.dtype] * 3),
    native="lstm_step",
    differentiable=(0, 1),
    gradient_name="MulBackward0",
    grad={
        "gates": lambda g0, g1, gates, more, cell, result1, result2: _grads(
            g0, g1, gates, more, cell, result1, result2
        )[0],
        "more": lambda g0, g1, gates, more, cell, result1, result2: _grads(g0, g1, gates, more, cell, result1, result2)[
            1
        ],
        "cell": lambda g0, g1, gates, more, cell, result1, result2: _grads(g0, g1, gates, more, cell, result1, result2)[
            2
        ],
    },
    fused={
        "gates, more, cell": _grads,
        "gates, more": lambda g0, g1, gates, more, cell, result1, result2: _grads(
            g0, g1, gates, more, cell, result1, result2
        )[:2],
    },
    **_SHIM,
)
def lstm_step(xp, gates, more, cell):
    """h, the next cell, and i, f, g, o after their functions, of the gates ``gates + more`` (..., 4 n) and the cell (..., n)."""
    i, f, g, o = xp.split(gates + more, 4, axis=-1)
    i, f, g, o = 1 / (1 + xp.exp(-i)), 1 / (1 + xp.exp(-f)), xp.tanh(g), 1 / (1 + xp.exp(-o))
    after = f * cell + i * g
    return o * xp.tanh(after), after, xp.concatenate([i, f, g, o], axis=-1)


@op(
    "shim::lstm_step_backward(Tensor? grad_h, Tensor? grad_cell, Tensor gates, Tensor before, Tensor after) -> (Tensor, Tensor)",
    shape=lambda gates, before: [gates.shape, before.shape],
    dtype=lambda before: (before.dtype, [before.dtype] * 2),
    native="lstm_step_backward",
    **_SHIM,
)
def lstm_step_backward(xp, grad_h, grad_cell, gates, before, after):
    """The gradients of ``lstm_step`` by its gates and its cell, of the results' (None: zero)."""
    i, f, g, o = xp.split(gates, 4, axis=-1)
    t = xp.tanh(after)
    gh = xp.zeros_like(t) if grad_h is None else grad_h
    through = (0 if grad_cell is None else grad_cell) + gh * o * (1 - t * t)
    parts = [through * g * i * (1 - i), through * before * f * (1 - f), through * i * (1 - g * g), gh * t * o * (1 - o)]
    return xp.concatenate(parts, axis=-1), through * f


# --- a step of a GRU, on CUDA --------------------------------------------------------------------------------------------


def _gru_by_steps(g: Any, gates: Any, more: Any, state: Any) -> tuple[Any, Any, Any]:
    """The gradients in tensor operations, from the inputs, so that they can be differentiated."""
    (r, z, n), (hr, hz, hn) = gates.chunk(3, -1), more.chunk(3, -1)
    r, z = (r + hr).sigmoid(), (z + hz).sigmoid()
    new = (n + r * hn).tanh()
    of_new = g * (1 - z) * (1 - new * new)
    shared = [of_new * hn * r * (1 - r), g * (state - new) * z * (1 - z)]
    return torch.cat([*shared, of_new], -1), torch.cat([*shared, of_new * r], -1), g * z


def _gru_grads(g0, gates, more, state, result1):
    if _core.is_grad_enabled():
        return _gru_by_steps(g0, gates, more, state)
    return shim.gru_step_backward(g0, result1, state)


def _gru_grad(k: int) -> Any:
    return lambda g0, gates, more, state, result1: _gru_grads(g0, gates, more, state, result1)[k]


@op(
    "shim::gru_step(Tensor gates, Tensor more, Tensor state) -> (Tensor, Tensor)",
    shape=lambda state: [state.shape, (*state.shape[:-1], 4 * state.shape[-1])],
    dtype=lambda state: (state.dtype, [state.dtype] * 2),
    native="gru_step",
    differentiable=(0,),
    gradient_name="ThnnFusedGruCellBackward0",
    grad={name: _gru_grad(k) for k, name in enumerate(("gates", "more", "state"))},
    fused={
        "gates, more, state": _gru_grads,
        "gates, more": lambda g0, gates, more, state, result1: _gru_grads(g0, gates, more, state, result1)[:2],
    },
    **_SHIM,
)
def gru_step(xp, gates, more, state):
    """The next state of gates of the input and of the state (..., 3 n), which are reset, update and new; and what the gradients read."""
    (r, z, n), (hr, hz, hn) = xp.split(gates, 3, axis=-1), xp.split(more, 3, axis=-1)
    r, z = 1 / (1 + xp.exp(-(r + hr))), 1 / (1 + xp.exp(-(z + hz)))
    new = xp.tanh(n + r * hn)
    return new + z * (state - new), xp.concatenate([r, z, new, hn], axis=-1)


@op(
    "shim::gru_step_backward(Tensor grad_output, Tensor kept, Tensor state) -> (Tensor, Tensor, Tensor)",
    shape=lambda state: [*[(*state.shape[:-1], 3 * state.shape[-1])] * 2, state.shape],
    dtype=lambda state: (state.dtype, [state.dtype] * 3),
    native="gru_step_backward",
    **_SHIM,
)
def gru_step_backward(xp, grad_output, kept, state):
    """The gradients of ``gru_step`` by both gates and by the state."""
    r, z, new, hn = xp.split(kept, 4, axis=-1)
    of_new = grad_output * (1 - z) * (1 - new * new)
    shared = [of_new * hn * r * (1 - r), grad_output * (state - new) * z * (1 - z)]
    return (
        xp.concatenate([*shared, of_new], axis=-1),
        xp.concatenate([*shared, of_new * r], axis=-1),
        grad_output * z,
    )


# --- all steps of a layer ----------------------------------------------------------------------------------------------------


def _layer_by_steps(g0, g1, gates, h, c, weight, bias):
    """The gradients in tensor operations, from the inputs, so that they can be differentiated."""
    linear, kept, states = aten.linear, [], []
    for step in gates.unbind(0):
        more = linear(h, weight, bias)
        i, f, g, o = (step + more).chunk(4, -1)
        kept.append((step, more, c))
        states.append(h)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    grad_h, grad_c, parts = torch.zeros_like(h), torch.zeros_like(c), []
    for k in reversed(range(len(kept))):
        grad_h = grad_h if g0 is None else grad_h + g0[k]
        grad_c = grad_c if g1 is None else grad_c + g1[k]
        part, grad_c = _by_steps(grad_h, grad_c, *kept[k])
        grad_h = part @ weight
        parts.append(part)
    grad_gates = torch.stack(parts[::-1])
    flat = grad_gates.flatten(0, 1)
    return grad_gates, grad_h, grad_c, flat.t() @ torch.cat(states), flat.sum(0)


def _layer_grads(g0, g1, gates, h, c, weight, bias, result0, result1, result2):
    if _core.is_grad_enabled():
        return _layer_by_steps(g0, g1, gates, h, c, weight, bias)
    grad_gates, grad_h, grad_c = shim.lstm_layer_backward(g0, g1, result2, c, weight, result1)
    flat = grad_gates.flatten(0, 1)
    return grad_gates, grad_h, grad_c, flat.t() @ torch.cat([h, result0[:-1].flatten(0, 1)]), flat.sum(0)


def _layer_grad(k: int) -> Any:
    return lambda g0, g1, gates, h, c, weight, bias, result0, result1, result2: _layer_grads(
        g0, g1, gates, h, c, weight, bias, result0, result1, result2
    )[k]


def _layer_some(*ks: int) -> Any:
    def formula(g0, g1, gates, h, c, weight, bias, result0, result1, result2):
        found = _layer_grads(g0, g1, gates, h, c, weight, bias, result0, result1, result2)
        return tuple(found[k] for k in ks)

    return formula


@op(
    "shim::lstm_layer(Tensor gates, Tensor h, Tensor c, Tensor weight, Tensor? bias) -> (Tensor, Tensor, Tensor)",
    shape=lambda gates, c: [(gates.shape[0], *c.shape)] * 2 + [gates.shape],
    dtype=lambda c: (c.dtype, [c.dtype] * 3),
    native="lstm_layer",
    differentiable=(0, 1),
    grad={name: _layer_grad(k) for k, name in enumerate(("gates", "h", "c", "weight", "bias"))},
    fused={
        "gates, h, c, weight, bias": _layer_some(0, 1, 2, 3, 4),
        "gates, weight, bias": _layer_some(0, 3, 4),
        "gates, weight": _layer_some(0, 3),
    },
    gradient_name="MkldnnRnnLayerBackward0",  # PyTorch's, of float32 on the CPU
    **_SHIM,
)
def lstm_layer(xp, gates, h, c, weight, bias):
    """Outputs and cells (steps, batch, n) of all steps, and their gates after their functions; see ``lstm_step``."""
    outputs, cells, kept = [], [], []
    for step in gates:
        h, c, done = lstm_step(xp, step, h @ weight.T + (0 if bias is None else bias), c)
        outputs.append(h)
        cells.append(c)
        kept.append(done)
    return xp.stack(outputs), xp.stack(cells), xp.stack(kept)


@op(
    "shim::lstm_layer_backward(Tensor? grad_outputs, Tensor? grad_cells, Tensor gates, Tensor c, Tensor weight, Tensor cells)"
    " -> (Tensor, Tensor, Tensor)",
    shape=lambda gates, c: [gates.shape, c.shape, c.shape],
    dtype=lambda c: (c.dtype, [c.dtype] * 3),
    native="lstm_layer_backward",
    **_SHIM,
)
def lstm_layer_backward(xp, grad_outputs, grad_cells, gates, c, weight, cells):
    """The gradients of ``lstm_layer`` by its gates and its state, of the results' (None: zero)."""
    grad_h, grad_c, parts = xp.zeros_like(c), xp.zeros_like(c), []
    for k in reversed(range(gates.shape[0])):
        grad_h = grad_h if grad_outputs is None else grad_h + grad_outputs[k]
        grad_c = grad_c if grad_cells is None else grad_c + grad_cells[k]
        part, grad_c = lstm_step_backward(xp, grad_h, grad_c, gates[k], cells[k - 1] if k else c, cells[k])
        grad_h = part @ weight
        parts.append(part)
    return xp.stack(parts[::-1]), grad_h, grad_c
