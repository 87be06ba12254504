"""``torch.utils._sympy.functions``: code that has an expression asks whether it is one of these; no size here is."""

from shim_torch._impl.surface.not_built import declare

declare(globals(), "sizes are plain numbers", "CeilDiv CleanDiv FloorDiv Mod ModularIndexing PythonMod Where")
