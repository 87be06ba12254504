"""``torch._inductor.package``: compiled models in a file, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(globals(), NO_COMPILER, "AOTICompiledModel load_package package_aoti")
