"""``torch.signal.windows.windows``: the file of PyTorch that has the windows."""

from shim_torch.signal.windows import *  # noqa: F403
from shim_torch.signal.windows import __all__ as __all__
