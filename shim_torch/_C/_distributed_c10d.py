"""The classes of ``torch.distributed`` by the names that annotations use."""

from __future__ import annotations

from shim_torch.distributed._stores import HashStore, PrefixStore, Store, TCPStore
from shim_torch.distributed.distributed_c10d import GradBucket, ProcessGroup, ReduceOp, Work

__all__ = ["GradBucket", "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work"]
