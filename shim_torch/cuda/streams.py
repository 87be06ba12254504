"""``torch.cuda.streams``."""

from shim_torch.cuda._streams import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
