"""The documented name of :mod:`shim_torch_proxy`: its public functions, the same objects.

A program with a ``compat.py`` of its own imports ``shim_torch_proxy``.
"""

from shim_torch_proxy import (
    Token,
    TorchProxyWarning,
    disable_torch_proxy,
    enable_torch_proxy,
    torch_proxy,
    torch_proxy_status,
)

__all__ = [
    "Token",
    "TorchProxyWarning",
    "disable_torch_proxy",
    "enable_torch_proxy",
    "torch_proxy",
    "torch_proxy_status",
]
