"""``functorch.experimental.control_flow``."""

from shim_torch._names import cond

__all__ = ["cond"]
