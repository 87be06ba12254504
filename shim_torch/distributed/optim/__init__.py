"""``torch.distributed.optim``: optimizers that divide their state among processes; in a group of one it is whole."""

from __future__ import annotations

from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
__getattr__ = _asked_of(__name__)
