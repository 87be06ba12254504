"""``torch.backends.mps``: Apple's GPUs, which shim-torch doesn't use."""

from __future__ import annotations


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
    """False: there is no MPS device."""
    return False
