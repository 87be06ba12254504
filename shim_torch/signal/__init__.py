"""``torch.signal``: window functions."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.signal import windows

__all__ = ["windows"]

__getattr__ = _asked_of(__name__)
