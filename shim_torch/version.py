"""``torch.version``: what this torch was built for."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.torch_version import current as _current

__version__ = _current()
debug = False
git_version = "unknown"
hip = None
rocm = None
xpu = None


def __getattr__(name: str) -> Any:
    if name == "cuda":
        from shim_torch._impl.extensions import cuda_toolkit

        return cuda_toolkit.version()
    raise AttributeError(f"module 'torch.version' has no attribute '{name}'")
