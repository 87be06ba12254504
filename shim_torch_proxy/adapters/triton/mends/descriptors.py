"""Tensor descriptors in Triton's interpreter: reductions into memory, which it lacks."""

from __future__ import annotations

from copy import copy
from types import ModuleType, SimpleNamespace
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


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

    stock = interpreter.TensorDescHandle.validate

    def validate(self: Any) -> None:
        """Stock's own checks, of a descriptor whose outer strides are given in bytes."""
        itemsize = self.base.dtype.element_ty.primitive_bitwidth // 8
        *outer, inner = self.strides
        in_bytes = copy(self)
        in_bytes.strides = [*(SimpleNamespace(data=stride.data * itemsize) for stride in outer), inner]
        stock(in_bytes)

    patch.set(interpreter.TensorDescHandle, "validate", validate)


MENDS = (
    Mend("descriptor strides", "count in bytes", "triton.runtime.interpreter", _strides, until=(3, 6)),
    Mend("descriptor reductions", "desc.atomic_add, min, max, and, or, xor", "triton.runtime.interpreter", _reduce),
)
