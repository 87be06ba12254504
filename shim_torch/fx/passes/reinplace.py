"""``torch.fx.passes.reinplace``, by name: graphs are not rewritten to write in place."""

from __future__ import annotations

from shim_torch._not_built import declare

__getattr__ = declare(globals(), "graphs are not rewritten to write in place", "reinplace")
