"""``torch.distributed.elastic.metrics.api``: handlers of groups of numbers; without one a number goes nowhere."""

from __future__ import annotations

import abc
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

_OWN_GROUP = "torchelastic"


class MetricData(NamedTuple):
    """A number that was emitted."""

    timestamp: float
    group_name: str
    name: str
    value: int


class MetricsConfig:
    """The settings of a handler."""

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = params if params is not None else {}


class MetricHandler(abc.ABC):
    """Takes what is emitted."""

    @abc.abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Takes one number."""


class ConsoleMetricHandler(MetricHandler):
    """Prints what is emitted."""

    def emit(self, metric_data: MetricData) -> None:
        """Prints a line."""
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Drops what is emitted."""

    def emit(self, metric_data: MetricData) -> None:
        """Drops the number."""


class MetricStream:
    """The numbers of one group."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name = group_name
        self.handler = handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Emits a number, with the time."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_of_groups: dict[str | None, MetricHandler] = {None: NullMetricHandler()}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Who takes the numbers of a group, or of the groups that have nobody."""
    _of_groups[group] = handler


def getStream(group: str) -> MetricStream:
    """The stream of a group."""
    return MetricStream(group, _of_groups.get(group, _of_groups[None]))


def put_metric(metric_name: str, metric_value: int, metric_group: str = _OWN_GROUP) -> None:
    """Emits a number of a group."""
    getStream(metric_group).add_value(metric_name, metric_value)


def prof(fn: Callable[..., Any] | None = None, group: str = _OWN_GROUP) -> Any:
    """Decorates a function: its calls emit whether they succeeded and how many milliseconds they took."""
    if fn is None:
        return functools.partial(prof, group=group)
    name = f"{fn.__module__}.{fn.__qualname__}"

    @functools.wraps(fn)
    def counted(*args: Any, **kwargs: Any) -> Any:
        began, outcome = time.monotonic(), "failure"
        try:
            result = fn(*args, **kwargs)
            outcome = "success"
        finally:
            put_metric(f"{name}.{outcome}", 1, group)
            put_metric(f"{name}.duration.ms", int((time.monotonic() - began) * 1000), group)
        return result

    return counted
