"""What a reduction combines with."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from shim_torch._impl.surface import naming


class RedOpType(IntEnum):
    """The kinds of reductions, with PyTorch's numbers."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class ReduceOp:
    """What a reduction combines with."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX)
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        return RedOpType(op)


class PremulSum(ReduceOp):
    """A sum of tensors that are multiplied by a factor before: a number, or a tensor with one element on their device."""

    factor: Any

    def __new__(cls, factor: Any) -> Any:
        made = object.__new__(cls)
        made.factor = factor
        return made

    def __int__(self) -> int:
        return int(RedOpType.PREMUL_SUM)

    def __eq__(self, other: object) -> bool:
        return other is self or other == RedOpType.PREMUL_SUM

    def __hash__(self) -> int:
        return hash(RedOpType.PREMUL_SUM)


def _make_nccl_premul_sum(factor: Any) -> Any:
    """The reduction that NCCL calls a premultiplied sum. Errors: TypeError for what is neither a number nor a tensor."""
    from shim_torch._impl.native import _core

    if not isinstance(factor, (int, float, _core.Tensor)):
        raise TypeError(f"torch.distributed._make_nccl_premul_sum: a number or a tensor, got {type(factor)}")
    return PremulSum(factor)


naming.present(globals(), "torch.distributed.distributed_c10d")
