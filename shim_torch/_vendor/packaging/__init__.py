"""``torch._vendor.packaging``: the installed package ``packaging``."""

from shim_torch._vendor.packaging import version

__all__ = ["version"]
