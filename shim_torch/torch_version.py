"""``torch.torch_version``."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch._impl.surface.torch_version import TorchVersion
from shim_torch._impl.surface.torch_version import current as _current

__version__ = _current()
__all__ = ["TorchVersion"]

__getattr__ = _asked_of(__name__)
