"""``torch.jit.quantized``: quantized TorchScript modules, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_SCRIPT, names

globals().update(
    names(
        "torch.jit.quantized",
        NO_SCRIPT,
        """
        QuantizedLinear QuantizedLinearFP16 QuantizedRNNCellBase QuantizedRNNCell QuantizedLSTMCell
        QuantizedGRUCell QuantizedRNNBase QuantizedLSTM QuantizedGRU quantize_rnn_cell_modules
        quantize_linear_modules quantize_rnn_modules
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.jit.quantized", name)
