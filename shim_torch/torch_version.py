"""``torch.torch_version``."""

from shim_torch._impl.surface.torch_version import TorchVersion
from shim_torch._impl.surface.torch_version import current as _current

__version__ = _current()
__all__ = ["TorchVersion"]
