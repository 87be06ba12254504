"""``torch.signal``: window functions."""

from shim_torch.signal import windows

__all__ = ["windows"]
