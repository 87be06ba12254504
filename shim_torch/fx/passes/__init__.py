"""``torch.fx.passes``: passes over graphs, which are not built here."""

from shim_torch._impl.surface.missing import asked_of as _asked_of

__getattr__ = _asked_of(__name__)
