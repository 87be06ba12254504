"""Tensor descriptors in Triton's interpreter: reductions into memory, which it lacks."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from compat.adapters.triton.mends.mend import Mend, Patch


def _reduce(interpreter: ModuleType, patch: Patch) -> None:
    import numpy as np

    kinds = interpreter._ir.DESCRIPTOR_REDUCE_KIND
    combine = {
        kinds.ADD: np.add,
        kinds.MIN: np.minimum,
        kinds.MAX: np.maximum,
        kinds.AND: np.bitwise_and,
        kinds.OR: np.bitwise_or,
        kinds.XOR: np.bitwise_xor,
    }

    def create_descriptor_reduce(self: Any, kind: Any, desc: Any, value: Any, indices: list[Any]) -> None:
        if kind not in combine:
            raise NotImplementedError(f"reduction {kind} through a tensor descriptor")
        ptrs, mask = desc.materialize_pointers(indices)
        mask, dtype = getattr(mask, "data", mask), value.data.dtype
        mask = np.ascontiguousarray(np.broadcast_to(mask, ptrs.data.shape))
        memory = interpreter._interpreter
        # One program runs at a time, and a block's addresses differ.
        before = memory.load(ptrs.data, mask, np.zeros(ptrs.data.shape, dtype), dtype)
        memory.store(ptrs.data, combine[kind](before, value.data).astype(dtype), mask)

    patch.set(interpreter.InterpreterBuilder, "create_descriptor_reduce", create_descriptor_reduce)


def _strides(interpreter: ModuleType, patch: Patch) -> None:
    """Strides are aligned in bytes (stock: their number of elements is taken for bytes)."""

    def validate(self: Any) -> None:
        size = self.base.dtype.element_ty.primitive_bitwidth // 8
        assert self.base.data.item() % 16 == 0, "base must be 16-byte aligned"
        assert len(self.strides) == len(self.block_shape) == self.ndim
        for stride in self.strides[:-1]:
            assert stride.data.item() * size % 16 == 0, "stride must be 16-byte aligned"
        assert self.strides[-1].data.item() == 1, "last dim must be contiguous"

    patch.set(interpreter.TensorDescHandle, "validate", validate)


MENDS = (
    Mend("descriptor strides", "count in bytes", "triton.runtime.interpreter", _strides, until=(3, 6)),
    Mend("descriptor reductions", "desc.atomic_add, min, max, and, or, xor", "triton.runtime.interpreter", _reduce),
)
