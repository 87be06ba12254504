"""``torch.monitor``: statistics and events of a program, handed to whoever registered for them."""

from __future__ import annotations

import datetime
import enum
import threading
import time
from collections.abc import Callable
from typing import Any

data_value_t = (str, float, int, bool)
STAT_EVENT = "torch.monitor.Stat"


class Aggregation(enum.Enum):
    """What a Stat makes of the values of one window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


VALUE, MEAN, COUNT, SUM, MAX, MIN = (Aggregation[n] for n in ("VALUE", "MEAN", "COUNT", "SUM", "MAX", "MIN"))


class Event:
    """Something that happened: name, timestamp (datetime) and data (str to str, float, int or bool)."""

    def __init__(self, name: str, timestamp: datetime.datetime, data: dict[str, Any]) -> None:
        for key, value in data.items():
            if not isinstance(key, str) or not isinstance(value, data_value_t):
                raise TypeError(f"torch.monitor.Event: data[{key!r}] must be str, float, int or bool")
        self.name, self.timestamp, self.data = name, timestamp, dict(data)

    def __repr__(self) -> str:
        return f"Event(name={self.name!r}, timestamp={self.timestamp!r}, data={self.data!r})"


class EventHandlerHandle:
    """What ``register_event_handler`` gives, for ``unregister_event_handler``."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self._handler = handler


_handlers: list[EventHandlerHandle] = []
_lock = threading.Lock()


def register_event_handler(handler: Callable[[Event], None]) -> EventHandlerHandle:
    """From now on ``handler(event)`` is called for every event that is logged."""
    handle = EventHandlerHandle(handler)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handle: EventHandlerHandle) -> None:
    """Its handler is called no more."""
    with _lock:
        if handle in _handlers:
            _handlers.remove(handle)


def log_event(event: Event) -> None:
    """Hands an event to every handler, on this thread."""
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


_REDUCED: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda v: v[-1] if v else 0.0,
    Aggregation.MEAN: lambda v: sum(v) / len(v) if v else 0.0,
    Aggregation.COUNT: lambda v: float(len(v)),
    Aggregation.SUM: lambda v: float(sum(v)),
    Aggregation.MAX: lambda v: max(v, default=0.0),
    Aggregation.MIN: lambda v: min(v, default=0.0),
}


class Stat:
    """Values collected over windows of time; each window's aggregations are logged as one event and kept for ``get``.

    Stat(name, aggregations, window_size, max_samples=unlimited): window_size is a timedelta. A window's event is logged when a
    value of a later window comes, with its ``max_samples``-th value (what comes after that in the window is dropped), or with
    the object's end.
    """

    def __init__(
        self, name: str, aggregations: list[Aggregation], window_size: Any, max_samples: int = 2**63 - 1
    ) -> None:
        self._name, self._aggregations, self._most = name, list(aggregations), max_samples
        seconds = window_size.total_seconds() if isinstance(window_size, datetime.timedelta) else window_size
        self._window = float(seconds)
        self._values: list[float] = []
        self._last = dict.fromkeys(self._aggregations, 0.0)
        self._window_id, self._full = self._current(), False

    def _current(self) -> int:
        return int(time.time() / self._window) if self._window > 0 else 0

    @property
    def name(self) -> str:
        """The name that it was made with."""
        return self._name

    @property
    def count(self) -> int:
        """How many values this window has so far."""
        return len(self._values)

    def add(self, value: float) -> None:
        """One more value of this window."""
        if self._window_id != self._current():
            if self._values:
                self._close()
            self._window_id, self._full = self._current(), False
        if not self._full:
            self._values.append(value)
        if len(self._values) >= self._most:
            self._full = True
            self._close()

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the last window that ended."""
        return dict(self._last)

    def _close(self) -> None:
        values, self._values = self._values, []
        self._last = {a: _REDUCED[a](values) for a in self._aggregations}
        data = {f"{self._name}.{a.name.lower()}": value for a, value in self._last.items()}
        log_event(Event(STAT_EVENT, datetime.datetime.now(), data))

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            self._close()


class TensorboardEventHandler:
    """Writes the events that Stats log as scalars of a TensorBoard writer."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for key, value in event.data.items():
                self._writer.add_scalar(key, value, walltime=event.timestamp.timestamp())
