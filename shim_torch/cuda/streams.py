"""``torch.cuda.streams``."""

from shim_torch._impl.cuda.streams import Event, ExternalStream, Stream
from shim_torch._impl.surface.missing import asked_of as _asked_of

__all__ = ["Event", "ExternalStream", "Stream"]

__getattr__ = _asked_of(__name__)
