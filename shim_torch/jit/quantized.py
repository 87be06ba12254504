"""``torch.jit.quantized``: quantized TorchScript modules, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_SCRIPT, declare

__getattr__ = declare(
    globals(),
    NO_SCRIPT,
    """
    QuantizedLinear QuantizedLinearFP16 QuantizedRNNCellBase QuantizedRNNCell QuantizedLSTMCell
    QuantizedGRUCell QuantizedRNNBase QuantizedLSTM QuantizedGRU quantize_rnn_cell_modules
    quantize_linear_modules quantize_rnn_modules
    """,
)
