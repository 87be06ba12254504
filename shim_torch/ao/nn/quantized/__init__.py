"""``torch.ao.nn.quantized``: its modules work on quantized tensors, which are not supported."""

from __future__ import annotations

from typing import Any

from shim_torch.ao.nn.quantized import modules as modules
from shim_torch.nn import MaxPool2d as MaxPool2d  # it works on quantized tensors as it is: PyTorch has the same alias


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.ao.nn.quantized", name)
