"""Operators of our own (``torch.ops.shim``) for recurrent steps on the CPU, one kernel each; bodies are their references."""

from __future__ import annotations

from typing import Any

from native import _core

from ._formulas import torch_module
from ._record import op

_SHIM = {"function": False}


def _by_steps(g0: Any, g1: Any, gates: Any, more: Any, cell: Any) -> tuple[Any, Any]:
    """The gradients in tensor operations, from the inputs, so that they can be differentiated."""
    torch = torch_module()
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
        of_gates, of_cell = _by_steps(g0, g1, gates, more, cell)
    else:
        of_gates, of_cell = torch_module().ops.shim.lstm_step_backward(g0, g1, result2, cell, result1)
    return of_gates, of_gates, of_cell


@op(
    "shim::lstm_step(Tensor gates, Tensor more, Tensor cell) -> (Tensor, Tensor, Tensor)",
    shape=lambda gates, cell: [cell.shape, cell.shape, gates.shape],
    dtype=lambda cell: (cell.dtype, [cell.dtype] * 3),
    native="lstm_step",
    differentiable=(0, 1),
    grad={
        "gates": lambda g0, g1, gates, more, cell, result1, result2: _grads(
            g0, g1, gates, more, cell, result1, result2
        )[0],
        "more": lambda g0, g1, gates, more, cell, result1, result2: _grads(
            g0, g1, gates, more, cell, result1, result2
        )[1],
        "cell": lambda g0, g1, gates, more, cell, result1, result2: _grads(
            g0, g1, gates, more, cell, result1, result2
        )[2],
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
    "shim::lstm_step_backward(Tensor? of_h, Tensor? of_cell, Tensor gates, Tensor before, Tensor after) -> (Tensor, Tensor)",
    shape=lambda gates, before: [gates.shape, before.shape],
    dtype=lambda before: (before.dtype, [before.dtype] * 2),
    native="lstm_step_backward",
    **_SHIM,
)
def lstm_step_backward(xp, of_h, of_cell, gates, before, after):
    """The gradients of ``lstm_step`` by its gates and its cell, of the results' (None: zero)."""
    i, f, g, o = xp.split(gates, 4, axis=-1)
    t = xp.tanh(after)
    gh = xp.zeros_like(t) if of_h is None else of_h
    through = (0 if of_cell is None else of_cell) + gh * o * (1 - t * t)
    parts = [through * g * i * (1 - i), through * before * f * (1 - f), through * i * (1 - g * g), gh * t * o * (1 - o)]
    return xp.concatenate(parts, axis=-1), through * f
