"""Steps, directions and layers of recurrent networks, in tensor operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.rules import WIDE


def linear(x: Any, w: Any, b: Any) -> Any:
    """x wᵀ + b."""
    return aten.linear(x, w, b)


def _unseen_on_cuda(*tensors: Any) -> bool:
    """Whether a step's pointwise part may be one kernel there: of one floating dtype, nobody looking on."""
    t = tensors[0]
    return t.is_floating_point() and all(
        _core.unseen_on_cuda(x) and x.dtype == t.dtype and x.dim() == t.dim() for x in tensors
    )


def lstm_step(gates: Any, state: Any, w: Any) -> Any:
    """The states (h, c) after a step of an LSTM; w: recurrent weight and bias, and the projection or None."""
    h, c = state
    plain = gates.dtype in WIDE and c.dtype == gates.dtype and c.dim() == gates.dim() and _core.unseen(gates, h, c)
    if plain or _unseen_on_cuda(gates, h, c):
        h, c, _ = shim.lstm_step(gates, linear(h, w[0], w[1]), c)
        return (h if w[2] is None else h.matmul(w[2].t())), c
    i, f, g, o = (gates + linear(h, w[0], w[1])).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w[2] is None else h.matmul(w[2].t())), c


def gru_step(gates: Any, state: Any, w: Any) -> Any:
    """The state (h,) after a step of a GRU."""
    (h,) = state
    more = linear(h, w[0], w[1])
    if _unseen_on_cuda(gates, more, h):
        return (shim.gru_step(gates, more, h)[0],)
    r, z, n = gates.chunk(3, -1)
    hr, hz, hn = more.chunk(3, -1)
    update = (z + hz).sigmoid()
    new = (n + (r + hr).sigmoid() * hn).tanh()
    return (new + update * (h - new),)


def tanh_step(gates: Any, state: Any, w: Any) -> Any:
    """The state (h,) after a step of a tanh network."""
    return ((gates + linear(state[0], w[0], w[1])).tanh(),)


def relu_step(gates: Any, state: Any, w: Any) -> Any:
    """The state (h,) after a step of a ReLU network."""
    return ((gates + linear(state[0], w[0], w[1])).relu(),)


def layer_weights(params: Any, has_biases: bool, projected: bool) -> list[tuple[Any, ...]]:
    """For each layer and direction: w_ih, w_hh, b_ih, b_hh, w_hr."""
    size = 2 + 2 * has_biases + projected
    if len(params) % size:
        raise RuntimeError("got an incorrect number of RNN parameters")
    found = []
    for i in range(0, len(params), size):
        part = list(params[i : i + size])
        biases = part[2:4] if has_biases else [None, None]
        found.append((part[0], part[1], *biases, part[-1] if projected else None))
    return found


def _in_one_kernel(gates: Any, *others: Any) -> bool:
    """Whether all steps may be one kernel: of one plain dtype on the CPU, nobody looking on."""
    plain = gates.dtype in WIDE and all(t.dtype == gates.dtype for t in others)
    return plain and gates.is_cpu and _core.unseen(gates, *others)


def _steps(step: Callable[..., Any], x: Any, state: Any, weights: Any, back: bool) -> tuple[Any, Any]:
    """One direction of one layer over (L, N, C)."""
    if x.size(0) == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    whole = linear(x, w_ih, b_ih)
    if step is lstm_step and w_hr is None and _in_one_kernel(whole, *state, w_hh, *(() if b_hh is None else (b_hh,))):
        y, c, _ = shim.lstm_layer(whole.flip(0) if back else whole, *state, w_hh, b_hh)
        return y.flip(0) if back else y, (y[-1], c[-1])
    gates = whole.unbind(0)
    outputs = []
    for g in reversed(gates) if back else gates:
        state = step(g, state, (w_hh, b_hh, w_hr))
        outputs.append(state[0])
    if back:
        outputs.reverse()
    return torch.stack(outputs, 0), state


def _packed_steps(
    step: Callable[..., Any], x: Any, sizes: list[int], state: Any, weights: Any, back: bool
) -> tuple[Any, Any]:
    """One direction of one layer over packed rows: sequences end (or, backwards, begin) as the batch sizes change."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    gates = linear(x, w_ih, b_ih).split(sizes, 0)
    outputs: list[Any] = []
    if back:
        first = state
        state = tuple(s[: sizes[-1]] for s in first)
        for t in reversed(range(len(sizes))):
            have, n = state[0].size(0), sizes[t]
            if n > have:
                state = tuple(torch.cat([s, f[have:n]], 0) for s, f in zip(state, first, strict=True))
            state = step(gates[t], state, (w_hh, b_hh, w_hr))
            outputs.append(state[0])
        outputs.reverse()
        return torch.cat(outputs, 0), state
    ended: list[Any] = []
    for t, n in enumerate(sizes):
        if n < state[0].size(0):
            ended.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = step(gates[t], state, (w_hh, b_hh, w_hr))
        outputs.append(state[0])
    parts = [state, *reversed(ended)]
    return torch.cat(outputs, 0), tuple(torch.cat(p, 0) for p in zip(*parts, strict=True))


def all_layers(
    step: Callable[..., Any], x: Any, sizes: list[int] | None, hx: Any, weights: Any, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """All layers: outputs of the last, and the final states stacked by layer and direction."""
    directions = 2 if bidirectional else 1
    finals: list[Any] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            state = tuple(h[k] for h in hx)
            back = direction == 1
            if sizes is None:
                y, state = _steps(step, x, state, weights[k], back)
            else:
                y, state = _packed_steps(step, x, sizes, state, weights[k], back)
            outputs.append(y)
            finals.append(state)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            x = torch.dropout(x, dropout, True)
    return x, tuple(torch.stack(part, 0) for part in zip(*finals, strict=True))
