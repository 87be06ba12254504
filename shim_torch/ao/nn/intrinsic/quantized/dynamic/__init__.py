"""``torch.ao.nn.intrinsic.quantized.dynamic``: fused modules with quantized weights, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_QUANTIZED, declare

__getattr__ = declare(
    globals(),
    NO_QUANTIZED,
    """
    LinearReLU
    """,
)
