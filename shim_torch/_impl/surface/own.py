"""Which code is this package's, and what its modules are called in PyTorch."""

from __future__ import annotations

from types import FrameType


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of this package. Its modules are named ``torch.x`` while a proxy is enabled; ``__package__`` stays."""
    package = frame.f_globals.get("__package__")
    return isinstance(package, str) and package.partition(".")[0] == "shim_torch"


def in_torch(name: str) -> str:
    """The name that a module of ours has in PyTorch, given what it calls itself."""
    return name.removeprefix("shim_")
