"""``torch.torch_version``."""

from shim_torch._version import TorchVersion, current

TorchVersion.__module__ = "torch.torch_version"
__version__ = current()
__all__ = ["TorchVersion"]
