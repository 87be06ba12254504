"""``torch.onnx.symbolic_opset11``: export functions; there is no exporter to call them."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.onnx.symbolic_opset11", name)
