"""Recurrent layers and cells: tanh, ReLU, GRU and LSTM, over padded batches and packed sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.cudnn_recurrent import MODES, check_attributes, cudnn_layers
from shim_torch._impl.records.shared.recurrent import (
    all_layers,
    gru_step,
    layer_weights,
    linear,
    lstm_step,
    relu_step,
    tanh_step,
)
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.tensor import from_data

_METHODLESS: dict[str, Any] = {"method": False}


# A step takes the input's part of the gates (all steps at once beforehand), the state, and the recurrent weights.


def _padded(
    step: Callable[..., Any], mode: str, input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Outputs and last states of sequences of one length: cuDNN's on CUDA, where it has them."""
    check_attributes(input, hx, params, False)
    if input.is_cuda:
        found = cudnn_layers(
            MODES[mode], input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, ()
        )
        if found is not None:
            return found
    weights = layer_weights(params, has_biases, len(hx) > 1 and hx[0].size(2) != hx[1].size(2))
    x = input.transpose(0, 1) if batch_first else input
    y, finals = all_layers(step, x, None, hx, weights, num_layers, dropout, train, bidirectional)
    if not batch_first:
        return y, finals
    in_place = step is not lstm_step and type(y) is _core.Tensor  # as PyTorch's node says, and that it is no view
    return (y.transpose_(0, 1) if in_place else y.transpose(0, 1)), finals


def _packed(
    step: Callable[..., Any], mode: str, data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The same of packed rows."""
    check_attributes(data, hx, params, False)
    sizes = batch_sizes.tolist()
    if data.is_cuda:
        found = cudnn_layers(
            MODES[mode], data, hx, params, has_biases, num_layers, dropout, train, bidirectional, False, sizes
        )
        if found is not None:
            return found
    weights = layer_weights(params, has_biases, len(hx) > 1 and hx[0].size(2) != hx[1].size(2))
    return all_layers(step, data, sizes, hx, weights, num_layers, dropout, train, bidirectional)


_INPUT = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
)
_DATA = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


@composite(
    f"lstm.input(Tensor input, Tensor[] hx, {_INPUT}) -> (Tensor, Tensor, Tensor)",
    **_METHODLESS,
    autocast="lower_precision_cpu",
)
def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """A long short-term memory of several layers, of two directions where ``bidirectional``: (outputs, last h, last c).

    Shapes:  input (L, N, K) and hx (h, c), each (layers * directions, N, H) -> outputs (L, N, directions * H) and
             states of the shapes of hx; with ``batch_first`` input and outputs are (N, L, ...)
             packed: data (rows, K), batch_sizes (L,), the rows of each step -> outputs (rows, directions * H)
    Params:  for each layer and direction w_ih (4H, K), w_hh (4H, H) and, with ``has_biases``, b_ih and b_hh (4H,);
             where h is projected to P elements also w_hr (P, H). Gates in the order input, forget, cell, output
    Dropout: with ``train``, of the outputs of every layer but the last
    """
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    y, finals = _padded(
        lstm_step, "LSTM", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return (y, *finals)


@composite(
    f"lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, {_DATA}) -> (Tensor, Tensor, Tensor)", **_METHODLESS
)
def lstm_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    """The same of packed sequences: ``data`` has the rows of all steps, ``batch_sizes`` how many belong to each."""
    y, finals = _packed(
        lstm_step, "LSTM", data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    )
    return (y, *finals)


def _declare(name: str, mode: str, step: Callable[..., Any]) -> None:
    @composite(f"{name}.input(Tensor input, Tensor hx, {_INPUT}) -> (Tensor, Tensor)", **_METHODLESS)
    def padded(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        y, finals = _padded(
            step, mode, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
        return y, finals[0]

    @composite(f"{name}.data(Tensor data, Tensor batch_sizes, Tensor hx, {_DATA}) -> (Tensor, Tensor)", **_METHODLESS)
    def packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        y, finals = _packed(
            step, mode, data, batch_sizes, (hx,), params, has_biases, num_layers, dropout, train, bidirectional
        )
        return y, finals[0]

    @composite(
        f"{name}_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
        **_METHODLESS)  # fmt: skip
    def cell(input, hx, w_ih, w_hh, b_ih, b_hh):
        _check_cell(input, hx, w_ih, w_hh)
        return step(linear(input, w_ih, b_ih), (hx,), (w_hh, b_hh, None))[0]


_declare("gru", "GRU", gru_step)
_declare("rnn_tanh", "RNN_TANH", tanh_step)
_declare("rnn_relu", "RNN_RELU", relu_step)


def _check_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, place: int = 0) -> None:
    if input.size(-1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(-1)} expected {w_ih.size(1)}")
    if input.dim() == 2 and input.size(0) != hx.size(0):
        raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{place} batch size {hx.size(0)}")
    size = hx.size(1) if hx.dim() > 1 else hx.size(0)
    if size != w_hh.size(1):
        raise RuntimeError(f"hidden{place} has inconsistent hidden_size: got {size}, expected {w_hh.size(1)}")


@composite(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
    **_METHODLESS)  # fmt: skip
def lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """The states (h, c) after one step of a long short-term memory.

    Shapes:  input (N, K) or (K,), hx (h, c) of (N, H) or (H,), w_ih (4H, K), w_hh (4H, H), b_ih and b_hh (4H,); gates
             in the order input, forget, cell, output
    Errors:  RuntimeError for sizes that do not fit
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    for place, state in enumerate(hx):
        _check_cell(input, state, w_ih, w_hh, place)
    return lstm_step(linear(input, w_ih, b_ih), tuple(hx), (w_hh, b_hh, None))


@composite("_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", **_METHODLESS)
def _pack_padded_sequence(input, lengths, batch_first):
    """Rows of (L, N, *) step by step without the padding, and how many sequences each step has; longest first."""
    x = input.transpose(0, 1) if batch_first else input
    ends = lengths.tolist()
    if len(ends) != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(ends)} (batch_size={x.size(1)})"
        )
    if any(b > a for a, b in zip(ends, ends[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability."
        )
    if ends and ends[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    sizes = [sum(1 for e in ends if e > t) for t in range(ends[0] if ends else 0)]
    data = torch.cat([x[t, :n] for t, n in enumerate(sizes)], 0)
    return data, from_data.tensor(sizes, dtype=_core.int64)


@composite(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)",
    **_METHODLESS)  # fmt: skip
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    sizes = batch_sizes.tolist()
    longest = len(sizes)
    if total_length > 0:
        if total_length < longest:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    rows = []
    for part in data.split(sizes, 0):
        missing = sizes[0] - part.size(0)
        if missing:
            part = torch.cat([part, part.new_full((missing, *part.shape[1:]), padding_value)], 0)
        rows.append(part)
    rows += [data.new_full((sizes[0], *data.shape[1:]), padding_value)] * (longest - len(sizes))
    padded = torch.stack(rows, 0)
    lengths = [sum(1 for n in sizes if n > i) for i in range(sizes[0])]
    return (padded.transpose(0, 1) if batch_first else padded), from_data.tensor(lengths, dtype=_core.int64)
