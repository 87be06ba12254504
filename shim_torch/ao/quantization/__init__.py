"""``torch.ao.quantization``: the marks that quantizable models carry. Before quantization they change nothing."""

from __future__ import annotations

from typing import Any

from shim_torch.nn import Module


class QuantStub(Module):
    """Where a quantized model would quantize its input; passes it on."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Where a quantized model would go back to floating point; passes its input on."""


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.ao.quantization", name)
