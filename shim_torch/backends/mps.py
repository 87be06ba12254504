"""``torch.backends.mps``: Apple's GPUs, which shim-torch doesn't use."""

from __future__ import annotations

from shim_torch._impl.surface import naming
from shim_torch._impl.surface.missing import asked_of as _asked_of


def is_built() -> bool:
    """Whether MPS can be used: no."""
    return False


def is_available() -> bool:
    """Whether there is an MPS device: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of at least that version, with MPS."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    return False

__getattr__ = _asked_of(__name__)

naming.present(globals())
