"""What losses share: their reductions, and one kernel for those of two tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.rules import FLOATS


def pointwise_loss(self: Any, target: Any, reduction: int, name: str, setting: float = 0.0) -> Any:
    """The sum or mean on CUDA, without the differences in between; None where that is not the case."""
    if not self.is_cuda or reduction not in (1, 2) or self.dtype not in FLOATS or self.shape != target.shape:
        return None
    if target.dtype != self.dtype or target.device != self.device or not self.numel():
        return None

    return shim.pointwise_loss(self, target, name, reduction == 1, float(setting))


def reduced_loss(each: Any, reduction: int) -> Any:
    """Losses as they are (0), their mean (1) or their sum (2)."""
    return each.mean() if reduction == 1 else each.sum() if reduction == 2 else each
