"""``torch._higher_order_ops.schema``, by name: functions that take functions have no schemas here."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import declare

__getattr__ = declare(
    globals(),
    "functions that take functions run as they are and have no schemas",
    "CFunctionSchemaGen HopArgumentInfo HopArgumentInfoGen HopSchema HopSchemaGenerator find_hop_schema",
)
