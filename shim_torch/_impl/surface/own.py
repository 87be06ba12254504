"""Which code is this package's, and what its modules are called in PyTorch."""

from __future__ import annotations

from types import FrameType


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of this package; by ``__package__``, as ``__name__`` may be ``torch.x``."""
    package = frame.f_globals.get("__package__")
    return isinstance(package, str) and package.partition(".")[0] == "shim_torch"


def in_torch(name: str) -> str:
    """PyTorch's name for a module of ours, given its ``__name__``."""
    return name.removeprefix("shim_")
