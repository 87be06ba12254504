"""``torch.ao.nn.intrinsic``: modules fused for quantization, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    _FusedModule ConvBn1d ConvBn2d ConvBn3d ConvReLU1d ConvReLU2d ConvReLU3d ConvBnReLU1d ConvBnReLU2d
    ConvBnReLU3d ConvAdd2d ConvAddReLU2d LinearReLU LinearBn1d LinearLeakyReLU LinearTanh BNReLU2d BNReLU3d
    """,
)
