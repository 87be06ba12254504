"""``torch._higher_order_ops.out_dtype``."""

from __future__ import annotations

from typing import Any


def out_dtype(op: Any, output_dtype: Any, *args: Any) -> Any:
    """The operator computed with its tensors in ``output_dtype``, so that sums don't overflow."""
    from shim_torch._impl.native import _core

    return op(*(a.to(output_dtype) if isinstance(a, _core.Tensor) else a for a in args))
