"""``torch._streambase``: the base classes of streams and events, by their older names."""

from shim_torch.cuda.streams import Event as _EventBase
from shim_torch.cuda.streams import Stream as _StreamBase

__all__ = ["_EventBase", "_StreamBase"]
