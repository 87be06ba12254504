"""``torch.distributed.nn``: collectives with gradients."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.distributed.nn.functional import all_gather, all_reduce, broadcast

__all__ = ["all_gather", "all_reduce", "broadcast"]

__getattr__ = _asked_of(__name__)
