"""torch.monitor: events and statistics."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from shim_torch.monitor import Aggregation, Event, Stat, log_event, register_event_handler, unregister_event_handler


@pytest.fixture
def events():
    found = []
    handle = register_event_handler(found.append)
    yield found
    unregister_event_handler(handle)


def test_a_window_of_a_number_of_values(events) -> None:
    stat = Stat("s", (Aggregation.SUM, Aggregation.MEAN), timedelta(hours=100), 3)
    assert stat.get() == {Aggregation.SUM: 0.0, Aggregation.MEAN: 0.0}
    counts = []
    for i in range(7):
        stat.add(i)
        counts.append(stat.count)
    assert counts == [1, 2, 0, 0, 0, 0, 0]  # what comes after the last value of a window is dropped
    assert stat.get() == {Aggregation.SUM: 3.0, Aggregation.MEAN: 1.0}
    assert [(e.name, e.data) for e in events] == [("torch.monitor.Stat", {"s.sum": 3.0, "s.mean": 1.0})]


def test_a_window_of_time_ends_with_the_next_value(events) -> None:
    stat = Stat("t", (Aggregation.COUNT, Aggregation.MAX), timedelta(milliseconds=20))
    stat.add(1)
    stat.add(4)
    time.sleep(0.05)
    assert stat.count == 2 and not events
    stat.add(3)
    assert stat.get() == {Aggregation.COUNT: 2.0, Aggregation.MAX: 4.0} and stat.count == 1
    del stat  # what is left is logged
    assert [e.data for e in events] == [{"t.count": 2.0, "t.max": 4.0}, {"t.count": 1.0, "t.max": 3.0}]


def test_events(events) -> None:
    event = Event("e", datetime.now(), {"a": 1, "b": "x", "c": 1.5})
    log_event(event)
    assert events == [event]
    with pytest.raises(TypeError):
        Event("e", datetime.now(), {"a": [1]})
