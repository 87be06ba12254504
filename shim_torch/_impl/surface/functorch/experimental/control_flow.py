"""``functorch.experimental.control_flow``."""

from shim_torch._higher_order_ops import map
from shim_torch._impl.tensor.symbols import cond

__all__ = ["cond", "map"]
