"""Recurrent layers by cuDNN (``torch._cudnn_rnn``): all layers, directions and steps in one call. Natives only: where cuDNN is absent
or has no kernel for the layers, ``Unsupported`` sends the caller back to the layers' steps."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.cudnn_recurrent import Unsupported, check_attributes
from shim_torch._impl.records.shared.recurrent import (
    all_layers,
    gru_step,
    layer_weights,
    lstm_step,
    relu_step,
    tanh_step,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import direct

_METHODLESS: dict[str, Any] = {"method": False}
_SETTINGS = (
    "int mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, "
    "bool bidirectional, SymInt[] batch_sizes, Tensor? dropout_state"
)
_TWICE = (
    "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for CuDNN RNNs due to limitations in "
    "the CuDNN API. To run double backwards, please disable the CuDNN backend temporarily while running the forward pass of your RNN. "
    "For example: \nwith torch.backends.cudnn.flags(enabled=False):\n    output = model(inputs)"
)


def _unsupported(name: str, t: Any) -> Unsupported:
    backend = t.device.type.upper()
    why = "cuDNN is not there, or has no kernel for these layers" if t.is_cuda else "it is cuDNN's"
    return Unsupported(f"Could not run 'aten::{name}' with arguments from the '{backend}' backend: {why}")


def _by_steps(g0, g1, g2, input, weight, stride, hx, cx, settings, wanted):
    """The gradients in tensor operations, so that they can be differentiated."""
    from shim_torch._impl.table.aten_declare import pulled

    mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes = settings
    if dropout and train and num_layers > 1:
        raise RuntimeError(_TWICE)
    step = (relu_step, tanh_step, lstm_step, gru_step)[mode]
    states = 1 if cx is None else 2

    def run(x: Any, *others: Any) -> Any:
        weights = layer_weights(others[states:], stride - (proj_size > 0) == 4, proj_size > 0)
        swapped = batch_first and not batch_sizes
        x = x.transpose(0, 1) if swapped else x
        y, finals = all_layers(
            step, x, list(batch_sizes) or None, others[:states], weights, num_layers, 0.0, False, bidirectional
        )
        return (y.transpose(0, 1) if swapped else y, *finals)

    given = [g0, hx.new_zeros(hx.shape) if g1 is None else g1]
    if cx is not None:
        given.append(cx.new_zeros(cx.shape) if g2 is None else g2)
    inputs = [input, hx, *([] if cx is None else [cx]), *weight]
    mask = [wanted[0], wanted[2], *([] if cx is None else [wanted[3]]), *[wanted[1]] * len(weight)]
    found = list(pulled(run, inputs, given, mask))
    return found[0], found[1 + states :], found[1], found[2] if cx is not None else None


def _grads(
    g0, g1, g2, input, weight, weight_stride0, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first, dropout, train,
    bidirectional, batch_sizes, dropout_state, result0, result3, result4, wanted,
):  # fmt: skip
    settings = (mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes)
    if _core.is_grad_enabled():
        return _by_steps(g0, g1, g2, input, weight, weight_stride0, hx, cx, settings, wanted)
    reserve = result3.clone() if _core._graph_task_retains_graph() else result3  # it is written to
    dx, dhx, dcx, slopes = aten._cudnn_rnn_backward(
        input, weight, weight_stride0, result4, hx, cx, result0, g0, g1, None if cx is None else g2, *settings, dropout_state,
        reserve, [wanted[0], wanted[2], wanted[3], wanted[1]],
    )  # fmt: skip
    return dx, slopes, dhx, dcx if cx is not None else None


@direct(
    "_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, "
    f"{_SETTINGS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    native="_cudnn_rnn",
    differentiable=(0, 1, 2),
    grad={"input, weight, hx, cx": _grads},
    **_METHODLESS,
    autocast="float16",
)
def _cudnn_rnn(input, weight, weight_stride0, weight_buf, hx, cx, mode, *settings):
    """The outputs, the last states, what backward keeps (of training), and the weights in one buffer; see ``torch.nn.LSTM``.

    Shapes:  input (steps, batch, input_size), with batch_first (batch, steps, input_size), or the rows of packed sequences and their
    number at each step; hx, cx (layers * directions, batch, size); weight: of each layer and direction w_ih, w_hh, b_ih, b_hh, w_hr
    """
    if mode != 2 and cx is not None:
        raise RuntimeError("rnn: illegal defined cx for non-LSTM RNN")
    if input.is_cuda and _core.cudnn_setting("enabled") and _core.cudnn_version():
        check_attributes(input, (hx, cx), weight, True)
    raise _unsupported("_cudnn_rnn", input)


@direct(
    "_cudnn_rnn_backward(Tensor input, Tensor[] weight, int weight_stride0, Tensor weight_buf, Tensor hx, Tensor? cx, Tensor output, "
    f"Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, {_SETTINGS}, Tensor reserve, bool[4] output_mask)"
    " -> (Tensor, Tensor, Tensor, Tensor[])",
    native="_cudnn_rnn_backward",
    function=False,
    **_METHODLESS,
)
def _cudnn_rnn_backward(*arguments):
    """The gradients of ``_cudnn_rnn`` by its input, hx, cx and, where the mask's last says so, the weights."""
    if not arguments[16]:
        raise RuntimeError("cudnn RNN backward can only be called in training mode")
    raise _unsupported("_cudnn_rnn_backward", arguments[0])


@direct(
    "_cudnn_rnn_flatten_weight(Tensor[] weight_arr, int weight_stride0, SymInt input_size, int mode, SymInt hidden_size, SymInt proj_size, "
    "int num_layers, bool batch_first, bool bidirectional) -> Tensor",
    **_METHODLESS,
)
def _cudnn_rnn_flatten_weight(
    weight_arr, weight_stride0, input_size, mode, hidden_size, proj_size, num_layers, batch_first, bidirectional
):
    """Moves the weights into one buffer as cuDNN has them, which it returns: they are views of it afterwards."""
    found = _core.cudnn_rnn_buffer(
        weight_arr, weight_stride0, input_size, mode, hidden_size, proj_size, num_layers, bidirectional
    )
    if found is None:
        raise _unsupported("_cudnn_rnn_flatten_weight", weight_arr[0])
    buffer, parts = found
    with no_grad():
        for weight, part in zip(weight_arr, parts, strict=True):
            weight.set_(part)
    return buffer


@direct(
    "_cudnn_init_dropout_state(float dropout, bool train, int dropout_seed, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False) -> Tensor",
    **_METHODLESS,
)
def _cudnn_init_dropout_state(dropout, train, dropout_seed, dtype, layout, device, pin_memory):
    """The state (uint8) that ``_cudnn_rnn`` draws its dropout from; empty where nothing is dropped."""
    where = _core.device("cpu") if device is None else device
    if where.type != "cuda":
        raise Unsupported(
            f"Could not run 'aten::_cudnn_init_dropout_state' with arguments from the '{where.type.upper()}' backend: it is cuDNN's"
        )
    index = _core.cuda_current_device() if where.index is None else where.index
    if not train or dropout == 0:
        return _core.empty_tensor((0,), dtype=_core.uint8, device=_core.device("cuda", index))
    state = _core.cudnn_dropout_state(dropout, dropout_seed, index)
    if state is None:
        raise Unsupported("torch._cudnn_init_dropout_state: cuDNN is not there")
    return state
