"""``torch._refs.nn``: the module of ``torch._refs.nn.functional``."""

from shim_torch._refs.nn import functional

__all__ = ["functional"]
