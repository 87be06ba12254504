"""``torch._dynamo._trace_wrapped_higher_order_op``."""

from __future__ import annotations


class TransformGetItemToIndex:
    """A context in which ``x[tensor]`` may be used in traced functions: here it always may."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *_: object) -> None:
        pass
