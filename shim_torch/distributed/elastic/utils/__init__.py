"""``torch.distributed.elastic.utils``: the arguments of a worker, loggers and ports."""

from shim_torch.distributed.elastic.utils.api import macros

__all__ = ["macros"]
