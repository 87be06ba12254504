"""``torch.ao.nn.quantized``: its modules work on quantized tensors, which are not supported."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare
from shim_torch.ao.nn.quantized import modules as modules
from shim_torch.nn import MaxPool2d as MaxPool2d  # it works on quantized tensors as it is: PyTorch has the same alias

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d DeQuantize Dropout ELU
    Embedding EmbeddingBag FXFloatFunctional FloatFunctional GroupNorm Hardswish InstanceNorm1d InstanceNorm2d
    InstanceNorm3d LayerNorm LeakyReLU Linear LSTM MultiheadAttention PReLU QFunctional Quantize ReLU6 Sigmoid Softmax
    """,
)
