"""``torch.cuda.comm``: ``torch.nn.parallel.comm`` by its older name."""

from __future__ import annotations

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.nn.parallel.comm import (
    broadcast,
    broadcast_coalesced,
    gather,
    reduce_add,
    reduce_add_coalesced,
    scatter,
)

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]

__getattr__ = _asked_of(__name__)
