"""``torch._higher_order_ops.flex_attention``: indexing inside score functions works as it is."""

from __future__ import annotations

from shim_torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
