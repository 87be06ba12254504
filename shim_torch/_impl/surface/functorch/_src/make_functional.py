"""``functorch._src.make_functional``."""

from shim_torch._functorch.make_functional import _swap_state

__all__ = ["_swap_state"]
