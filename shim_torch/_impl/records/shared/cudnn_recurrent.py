"""Recurrent layers by cuDNN, where it has them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten

MODES = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}


class Unsupported(NotImplementedError):
    """cuDNN is not there, or has no kernel for these layers."""


def check_attributes(input: Any, hidden: Any, params: Any, dtypes: bool) -> None:
    """RuntimeError where a state or a weight is on another device than the input, or (where asked for) of another dtype."""
    for name, tensors in (("hidden", hidden), ("parameter", params)):
        for t in tensors:
            if t is None:
                continue
            if t.device != input.device:
                raise RuntimeError(
                    f"Input and {name} tensors are not at the same device, found input tensor at {input.device} and {name} tensor at {t.device}"
                )
            if dtypes and t.dtype != input.dtype:
                names = [_core.scalar_name(x.dtype) for x in (input, t)]
                raise RuntimeError(
                    f"Input and {name} tensors are not the same dtype, found input tensor with {names[0]} and {name} tensor with {names[1]}"
                )


_states: dict[int, tuple[int, Any]] = {}  # device -> (how often its generator was set, the state of cuDNN's dropout)


def dropout_state(p: float, device: Any) -> Any:
    """The state that dropout between layers draws from on a device: made anew after the device's generator was set."""
    from shim_torch._impl.tensor.generator import cuda_generator

    index = _core.cuda_current_device() if device.index is None else device.index
    generator = cuda_generator(index)
    kept = _states.get(index)
    if kept is None or kept[0] != generator._times_set:
        seed, start = generator._take(4)
        state = _core.cudnn_dropout_state(p, (seed + 0x9E3779B97F4A7C15 * start) & 0x7FFF_FFFF_FFFF_FFFF, index)
        if state is None:
            raise Unsupported("cuDNN is not there")
        kept = _states[index] = (generator._times_set, state)
    return kept[1]


def cudnn_layers(
    mode: int, input: Any, hidden: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool, batch_sizes: Any,
) -> Any:  # fmt: skip
    """(output, last states) by cuDNN; None where it does not take them."""
    if not _core.cudnn_rnn_takes(input, *hidden, *params):
        return None
    hx, cx = hidden if mode == 2 else (hidden[0], None)
    hidden_size, proj_size = (hx if cx is None else cx).size(2), 0
    if cx is not None and cx.size(2) != hx.size(2):
        proj_size = hx.size(2)
    keeps = _core.is_grad_enabled() and any(t.requires_grad for t in (input, *hidden, *params))
    drops = train and dropout > 0 and num_layers > 1
    try:
        found = aten._cudnn_rnn(
            input, list(params), 2 + 2 * has_biases + (proj_size > 0), None, hx, cx, mode, hidden_size, proj_size, num_layers,
            batch_first, dropout if drops else 0.0, drops or keeps, bidirectional, batch_sizes,
            dropout_state(dropout, input.device) if drops else None,
        )  # fmt: skip
    except Unsupported:
        return None
    return found[0], found[1:2] if cx is None else found[1:3]
