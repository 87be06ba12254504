"""``torch.distributed.nn``: collectives with gradients."""

from shim_torch.distributed.nn.functional import all_gather, all_reduce, broadcast

__all__ = ["all_gather", "all_reduce", "broadcast"]
