"""``torch.export._trace``: the exporter, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    _export _export_for_training _export_to_aten_ir _convert_ts_to_export_experimental
    """,
)
