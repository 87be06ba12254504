"""``torch.signal.windows.windows``: the file of PyTorch that has the windows."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.signal.windows import *  # noqa: F403
from shim_torch.signal.windows import __all__ as __all__

__getattr__ = _asked_of(__name__)
