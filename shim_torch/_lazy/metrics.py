"""``torch._lazy.metrics``: counters of lazy operators, which stay empty."""

from __future__ import annotations


def reset() -> None:
    """There is nothing to set back."""


def counter_names() -> list[str]:
    """No names: there is no lazy device."""
    return []


def counter_value(name: str) -> None:
    """None: no counter has that name."""


def metrics_report() -> str:
    """An empty report: there is no lazy device."""
    return ""
