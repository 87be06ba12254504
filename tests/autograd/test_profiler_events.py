"""Events of a profile made by hand: what lies within what, and averages of averages."""

from __future__ import annotations

import pytest

from shim_torch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg


def test_ranges_within_ranges_of_their_thread() -> None:
    spans = [(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3)]
    events = EventList()
    for number, (thread, start, end) in enumerate(spans):
        events.append(FunctionEvent(id=number, node_id=0, name="", thread=thread, start_us=start, end_us=end))
    events._populate_cpu_children()
    assert [[child.id for child in e.cpu_children] for e in events] == [[], [], [], [], [3]]
    assert events[0].node_id == 0 and events[0].sequence_nr == -1


def test_averages_add_up() -> None:
    average = FunctionEventAvg()
    average.add(FunctionEvent(id=0, name="foo", thread=0, start_us=10, end_us=15, node_id=0))
    average.add(FunctionEvent(id=1, name="foo", thread=0, start_us=20, end_us=30, node_id=0))
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.self_cpu_time_total) == ("foo", 4, 30, 30)


def test_an_event_says_nothing_unknown() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        FunctionEvent(0, "foo", 0, 0, 1, colour="red")
