"""Recurrent layers: RNN, LSTM, GRU and their cells."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import shim_torch
from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules.building import draw_within, settings_beside
from shim_torch._impl.nn.modules.recurrent_cells import (  # noqa: F401
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNCellBase,
    variable_functions,
)
from shim_torch._impl.nn.modules.recurrent_settings import check_settings
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter
from shim_torch.nn.utils.rnn import PackedSequence


class RNNBase(Module):
    """Weights and checks that the recurrent layers share.

    Shapes: input (L, N, C), with ``batch_first`` (N, L, C), (L, C) without a batch, or a PackedSequence; hidden states
    (layers · directions, N, hidden). Weights ``weight_ih_l0`` (gates · hidden, C) and so on, drawn from U(-1/√hidden, 1/√hidden).
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        check_settings(self, dropout)
        gates = {"LSTM": 4, "GRU": 3}.get(mode, 1) * hidden_size
        state = proj_size if proj_size > 0 else hidden_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                wide = input_size if layer == 0 else state * (2 if bidirectional else 1)
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, wide), "weight_hh": (gates, state)}
                if bias:
                    shapes.update(bias_ih=(gates,), bias_hh=(gates,))
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(shim_torch.empty(shape, dtype=dtype, device=device)))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.flatten_parameters()
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Moves the weights into one buffer as cuDNN reads them, of which they are views then; elsewhere nothing."""
        weights: list[Any] = [getattr(self, name, None) for name in self._flat_weights_names]
        first = weights[0] if weights else None
        cudnn = shim_torch.backends.cudnn
        if not isinstance(first, _core.TensorBase) or not first.is_cuda or not cudnn.is_acceptable(first):
            return
        if any(
            not isinstance(w, _core.TensorBase) or w.dtype != first.dtype or w.device != first.device for w in weights
        ):
            return
        if len({w.data_ptr() for w in weights}) != len(weights) or not _core.cudnn_rnn_takes(*weights):
            return  # some are one: they are copied at every call
        from shim_torch._impl.records.shared.cudnn_recurrent import MODES, Unsupported

        per = 2 + 2 * self.bias + (self.proj_size > 0)
        with contextlib.suppress(Unsupported):
            shim_torch.ops.aten._cudnn_rnn_flatten_weight(
                weights, per, self.input_size, MODES[self.mode], self.hidden_size, self.proj_size, self.num_layers,
                self.batch_first, bool(self.bidirectional),
            )  # fmt: skip

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        found = super()._apply(fn, recurse)
        self.flatten_parameters()
        return found

    def reset_parameters(self) -> None:
        """Draws every weight from U(-1/√hidden, 1/√hidden)."""
        draw_within(self.parameters(), self.hidden_size)

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """ValueError and RuntimeError for inputs of another dtype or size."""
        self._check_dtype(input)
        packed = batch_sizes is not None
        if input.dim() + packed != 3:
            raise RuntimeError(f"input must have {3 - packed} dimensions, got {input.dim()}")
        if (size := input.size(-1)) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {size}")

    def _check_dtype(self, input: Any) -> None:
        """An input has the weights' dtype, which autocast sees to by itself."""
        wanted, given = self._flat_weights[0].dtype, input.dtype
        if given != wanted and not _core.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({given}) does not match weight dtype ({wanted}). Convert input: input.to({wanted}), or "
                f"convert model: model.to({given})"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """(layers · directions, batch, hidden)."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self._state_shape(batch, self.proj_size or self.hidden_size)

    def _state_shape(self, batch: int, size: int) -> tuple[int, int, int]:
        return (1 + bool(self.bidirectional)) * self.num_layers, batch, size

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError with both sizes in ``msg`` for a hidden state of another size."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Checks input and hidden state against the layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The batch of a hidden state in another order; None keeps it."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        """The sizes, and what is set otherwise than by default."""
        plain = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return f"{self.input_size}, {self.hidden_size}" + settings_beside(self, proj_size=0, **plain)

    def _zeros(self, like: Any, batch: int, size: int) -> Any:
        return like.new_zeros(self._state_shape(batch, size))

    def _states(self, input: Any, hx: Any, batch: int, batched: bool, order: Any) -> Any:
        """The hidden state for the kernels: zeros if none is given, with a batch dim, in the packed order."""
        if hx is None:
            return self._zeros(input, batch, self.hidden_size)
        if not batched:
            if hx.dim() != 2:
                raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
            return hx.unsqueeze(1)
        if order is not None or isinstance(hx, _core.TensorBase):
            if batched and hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
        return self.permute_hidden(hx, order)

    def _kernel(self) -> Any:
        return getattr(
            variable_functions(), {"RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}.get(self.mode, self.mode.lower())
        )

    def _run(self, data: Any, sizes: Any, hx: Any) -> Any:
        settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if sizes is None:
            return self._kernel()(data, hx, *settings, self.batch_first)
        return self._kernel()(data, sizes, hx, *settings)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(output, last hidden states); the output (L, N, directions · hidden) is packed or lacks N as ``input`` does.

        ``hx`` None: zeros. Errors: ValueError for another number of dims or dtype, RuntimeError for other sizes.
        """
        packed = isinstance(input, PackedSequence)
        data: Any
        sizes: Any
        data, sizes, order, back = input if packed else (input, None, None, None)
        batched = True
        if not packed:
            if data.dim() not in (2, 3):
                raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {data.dim()}D instead")
            batched = data.dim() == 3
            at = 0 if self.batch_first else 1
            data = data if batched else data.unsqueeze(at)
        batch = int(sizes[0]) if packed else data.size(0 if self.batch_first else 1)
        state = self._states(data, hx, batch, batched, order)
        self.check_forward_args(data, state, sizes)
        output, *finals = self._run(data, sizes, state)
        if packed:
            output = PackedSequence(output, sizes, order, back)
            finals = [self.permute_hidden(h, back) for h in finals]
        elif not batched:
            output, finals = output.squeeze(0 if self.batch_first else 1), [h.squeeze(1) for h in finals]
        return output, finals[0] if len(finals) == 1 else tuple(finals)


def _refuse_projection(settings: dict[str, Any]) -> None:
    if "proj_size" in settings:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman's layer: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or ReLU by ``nonlinearity``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        sizes, own, rest = args[:3], args[3:4], args[4:]  # input, hidden, layers; the nonlinearity; what all have
        nonlinearity = own[0] if own else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *sizes, *rest, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory; states are pairs (h, c). ``proj_size`` projects h."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """(layers · directions, batch, hidden) of the cells."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Checks input, hidden and cell state against the layer."""
        self.check_input(input, batch_sizes)
        wanted = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], wanted, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The batch of (h, c) in another order; None keeps it."""
        return hx if permutation is None else super().permute_hidden(hx, permutation)

    def _states(self, input: Any, hx: Any, batch: int, batched: bool, order: Any) -> Any:
        if hx is None:
            size = self.proj_size if self.proj_size > 0 else self.hidden_size
            return [self._zeros(input, batch, size), self._zeros(input, batch, self.hidden_size)]
        wanted = 3 if batched else 2
        if any(h.dim() != wanted for h in hx):
            given = f"({hx[0].dim()}-D, {hx[1].dim()}-D)"
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {kind} input, hx and cx should also be {wanted}-D but got {given} tensors")
        return [self.permute_hidden(h, order) if batched else h.unsqueeze(1) for h in hx]


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """Deprecated: ``tensor.index_select(dim, permutation)``."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    return tensor.index_select(dim, permutation)
