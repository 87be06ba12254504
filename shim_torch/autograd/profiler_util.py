"""``torch.autograd.profiler_util``: the events of a profile, their sums and tables."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from shim_torch._missing import asked_of as _asked_of

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval(NamedTuple):
    """A stretch of time, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class FunctionEvent:
    """One range: ``name`` and ``time_range``."""

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float) -> None:
        self.id, self.name, self.key, self.thread = id, name, name, thread
        self.time_range = Interval(start_us, end_us)
        self.count = 1
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.device_time_total = self.self_device_time_total = 0.0
        self.cuda_time_total = self.cuda_time = 0.0
        self.kernels: list[Any] = []
        self.is_legacy = False

    @property
    def cpu_time_total(self) -> float:
        """Microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={_text(self.cpu_time_total)} thread={self.thread}>"
        )


class FunctionEventAvg:
    """All ranges of one name."""

    def __init__(self, key: str) -> None:
        self.key, self.count, self.cpu_time_total, self.self_cpu_time_total = key, 0, 0.0, 0.0
        self.device_time_total = self.self_device_time_total = self.cuda_time_total = 0.0

    def add(self, event: Any) -> FunctionEventAvg:
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

    @property
    def self_cpu_time_total(self) -> float:
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """One FunctionEventAvg a name."""
        found: dict[str, FunctionEventAvg] = {}
        for e in self:
            found.setdefault(e.key, FunctionEventAvg(e.key)).add(e)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
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

__getattr__ = _asked_of(__name__)
