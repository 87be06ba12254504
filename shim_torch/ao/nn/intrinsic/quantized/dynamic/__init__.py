"""``torch.ao.nn.intrinsic.quantized.dynamic``: fused modules with quantized weights, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_QUANTIZED, names

globals().update(
    names(
        "torch.ao.nn.intrinsic.quantized.dynamic",
        NO_QUANTIZED,
        """
        LinearReLU
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.ao.nn.intrinsic.quantized.dynamic", name)
