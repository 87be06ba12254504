"""Single steps of recurrent layers."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.nn.modules.building import draw_within, make_parameters, settings_beside
from shim_torch.nn.modules.module import Module


def variable_functions() -> Any:
    """``torch._VF``, asked at each call: libraries replace its functions to quantize what layers compute."""
    from shim_torch import _VF

    return _VF


class RNNCellBase(Module):
    """Weights that the cells share."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        make_parameters(self, device, dtype, weight_ih=(rows, input_size), weight_hh=(rows, hidden_size))
        make_parameters(self, device, dtype, **dict.fromkeys(("bias_ih", "bias_hh"), (rows,) if bias else None))
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The sizes, and what is set otherwise than by default."""
        kind = {"nonlinearity": "tanh"} if hasattr(self, "nonlinearity") else {}
        return f"{self.input_size}, {self.hidden_size}" + settings_beside(self, bias=True, **kind)

    def reset_parameters(self) -> None:
        """Draws every weight from U(-1/√hidden, 1/√hidden)."""
        draw_within(self.parameters(), self.hidden_size)

    def _prepared(self, input: Any, hx: Any) -> tuple[Any, Any, bool]:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        states = hx if isinstance(hx, (tuple, list)) else () if hx is None else (hx,)
        for i, h in enumerate(states):
            if h.dim() not in (1, 2):
                place = f"hx[{i}]" if isinstance(hx, (tuple, list)) else "hidden"
                raise ValueError(f"{name}: Expected {place} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zeros = x.new_zeros((x.size(0), self.hidden_size))
            return x, (zeros, zeros), batched
        return x, tuple(h if batched else h.unsqueeze(0) for h in states), batched

    @property
    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """One step of Elman's layer."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state (N, hidden_size) after ``input`` (N, input_size); N may lack. ``hx`` None: zeros."""
        x, states, batched = self._prepared(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        h = getattr(variable_functions(), f"rnn_{self.nonlinearity}_cell")(x, states[0], *self._weights)
        return h if batched else h.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of gated recurrent units."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state (N, hidden_size) after ``input`` (N, input_size); N may lack. ``hx`` None: zeros."""
        x, states, batched = self._prepared(input, hx)
        h = variable_functions().gru_cell(x, states[0], *self._weights)
        return h if batched else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; the state is a pair (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next (h, c), each (N, hidden_size), after ``input`` (N, input_size); N may lack. ``hx`` None: zeros."""
        x, states, batched = self._prepared(input, hx)
        h, c = variable_functions().lstm_cell(x, states, *self._weights)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
