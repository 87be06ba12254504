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


naming.present(globals(), "torch.distributed.distributed_c10d")
