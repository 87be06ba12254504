"""``torch.onnx._internal``: what libraries read of the exporter's state."""

from shim_torch._impl.surface.missing import asked_of as _asked_of

__getattr__ = _asked_of(__name__)
