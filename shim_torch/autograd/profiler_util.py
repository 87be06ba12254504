"""``torch.autograd.profiler_util``: the events of a profile, their sums and tables."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval(NamedTuple):
    """A stretch of time, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The length in microseconds."""
        return self.end - self.start


# What PyTorch's events may say beside their names and times, and what they say where nobody knows.
_FURTHER: dict[str, Any] = {
    "overload_name": None, "fwd_thread": None, "input_shapes": None, "stack": None, "scope": 0, "use_device": None,
    "cpu_memory_usage": 0, "device_memory_usage": 0, "is_async": False, "is_remote": False, "sequence_nr": -1, "node_id": -1,
    "device_index": 0, "device_resource_id": None, "is_legacy": False, "flops": None, "trace_name": None,
    "concrete_inputs": None, "kwinputs": None, "is_user_annotation": False,
}  # fmt: skip


class FunctionEvent:
    """One range: ``name`` and ``time_range``; what else a caller knows of it becomes attributes."""

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, **more: Any) -> None:
        wrong = set(more) - _FURTHER.keys()
        if wrong:
            raise TypeError(f"FunctionEvent.__init__() got an unexpected keyword argument '{sorted(wrong)[0]}'")
        vars(self).update(_FURTHER | more)
        self.id, self.name, self.key, self.thread = id, name, name, thread
        self.time_range = Interval(start_us, end_us)
        self.count = 1
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.device_time_total = self.self_device_time_total = 0.0
        self.cuda_time_total = self.cuda_time = 0.0
        self.kernels: list[Any] = []

    @property
    def cpu_time_total(self) -> float:
        """Microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the events within."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def cpu_time(self) -> float:
        """Microseconds of the event."""
        return self.cpu_time_total

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={_text(self.cpu_time_total)} thread={self.thread}>"
        )


class FunctionEventAvg:
    """All ranges of one name."""

    def __init__(self, key: str | None = None) -> None:
        self.key, self.count, self.cpu_time_total, self.self_cpu_time_total = key, 0, 0.0, 0.0
        self.device_time_total = self.self_device_time_total = self.cuda_time_total = 0.0

    def add(self, event: Any) -> FunctionEventAvg:
        """Counts a range, or all that another average has; the first one gives the key."""
        if self.key is None:
            self.key = event.key
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_text(self.self_cpu_time_total)} "
            f"cpu_time={_text(self.cpu_time)} count={self.count}>"
        )


class EventList(list[Any]):
    """Events in the order they began."""

    def __init__(self, events: Any = ()) -> None:
        super().__init__(events)
        open_events: list[Any] = []
        for e in self:
            if not isinstance(e, FunctionEvent):
                continue
            while open_events and open_events[-1].time_range.end < e.time_range.end:
                open_events.pop()
            if open_events and e.cpu_parent is None:
                e.cpu_parent = open_events[-1]
                open_events[-1].cpu_children.append(e)
            open_events.append(e)

    def _populate_cpu_children(self) -> None:
        """Gives every range the ranges of its thread that lie within it and within no shorter one."""
        for thread in {e.thread for e in self}:
            mine = [e for e in self if e.thread == thread and not e.is_async]
            outer: list[Any] = []
            for e in sorted(mine, key=lambda e: (e.time_range.start, -e.time_range.end)):
                while outer and (
                    e.time_range.start >= outer[-1].time_range.end or e.time_range.end > outer[-1].time_range.end
                ):
                    outer.pop()
                if outer and e.cpu_parent is None:
                    e.cpu_parent = outer[-1]
                    outer[-1].cpu_children.append(e)
                outer.append(e)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' own microseconds."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """One FunctionEventAvg a name."""
        found: dict[str, FunctionEventAvg] = {}
        for e in self:
            found.setdefault(e.key, FunctionEventAvg(e.key)).add(e)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one average, named "Total"."""
        total = FunctionEventAvg("Total")
        for e in self:
            total.add(e)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **_: Any) -> str:
        """A text table: name, times, calls."""
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda_time", "device_time")
            rows.sort(key=lambda e: getattr(e, name, 0.0), reverse=True)
        head = ("Name", "Self CPU", "CPU total", "CPU time avg", "# of Calls")
        lines = [
            (
                e.key,
                _text(e.self_cpu_time_total),
                _text(e.cpu_time_total),
                _text(e.cpu_time_total / e.count),
                str(e.count),
            )
            for e in rows[: None if row_limit < 0 else row_limit]
        ]
        widths = [max(len(r[i]) for r in [head, *lines]) for i in range(len(head))]
        rule = "  ".join("-" * w for w in widths)
        text = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in [head, *lines]]
        return "\n".join(
            [rule, text[0], rule, *text[1:], rule, f"Self CPU time total: {_text(self.self_cpu_time_total)}\n"]
        )

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a trace for chrome://tracing."""
        events = [
            {
                "name": e.name,
                "ph": "X",
                "ts": e.time_range.start,
                "dur": e.time_range.elapsed_us(),
                "tid": e.thread,
                "pid": os.getpid(),
                "args": {},
            }
            for e in self
        ]
        with open(path, "w", encoding="utf-8") as f:
            json.dump(events, f)

    def __str__(self) -> str:
        return self.table()


def _format_time(time_us: float) -> str:
    """A time in microseconds with its unit."""
    return _text(time_us)


def _text(microseconds: float) -> str:
    for limit, scale, unit in ((1e6, 1e6, "s"), (1e3, 1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / scale:.3f}{unit}"
    return f"{microseconds:.3f}us"
