"""What programs give as timeouts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any


def duration(timeout: Any) -> timedelta:
    """Of a timeout, which may be in seconds as a float. Errors: TypeError for anything else."""
    if isinstance(timeout, float):
        return timedelta(seconds=timeout)
    return timespan(timeout)


def timespan(timeout: Any) -> timedelta:
    """The timeout itself. Errors: TypeError for anything but a timedelta."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout
