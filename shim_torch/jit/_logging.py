"""``torch.jit._logging``: TorchScript's counters, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_SCRIPT, declare

__getattr__ = declare(
    globals(),
    NO_SCRIPT,
    """
    add_stat_value set_logger LockingLogger AggregationType NoopLogger time_point
    """,
)
