"""``torch.jit._logging``: TorchScript's counters, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_SCRIPT, names

globals().update(
    names(
        "torch.jit._logging",
        NO_SCRIPT,
        """
        add_stat_value set_logger LockingLogger AggregationType NoopLogger time_point
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.jit._logging", name)
