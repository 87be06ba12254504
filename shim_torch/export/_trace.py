"""``torch.export._trace``: the exporter, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch.export._trace",
        NO_COMPILER,
        """
        _export _export_for_training _export_to_aten_ir _convert_ts_to_export_experimental
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.export._trace", name)
