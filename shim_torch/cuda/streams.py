"""``torch.cuda.streams``."""

from shim_torch._missing import asked_of as _asked_of
from shim_torch.cuda._streams import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]

__getattr__ = _asked_of(__name__)
