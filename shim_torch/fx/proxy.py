"""``torch.fx.proxy``."""

from shim_torch.fx import Proxy

__all__ = ["Proxy"]
