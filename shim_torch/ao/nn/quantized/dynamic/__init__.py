"""``torch.ao.nn.quantized.dynamic``: modules with quantized weights, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    Linear LSTM GRU LSTMCell RNNCell GRUCell Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d
    """,
)
