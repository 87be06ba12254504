"""``torch.fx.passes.utils``: patterns looked for in graphs."""

from shim_torch._impl.surface.missing import asked_of as _asked_of

__getattr__ = _asked_of(__name__)
