"""``torch.utils.serialization``: the settings of ``torch.save`` and ``torch.load``."""

from shim_torch.utils.serialization import config as config

__all__ = ["config"]
