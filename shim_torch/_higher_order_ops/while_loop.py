"""``torch._higher_order_ops.while_loop``."""

from shim_torch._higher_order_ops import while_loop

__all__ = ["while_loop"]
