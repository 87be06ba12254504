"""``torch.autograd.profiler_util``: the events of a profile, their sums and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
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
        self.input_shapes: Any = ""
        self.flops, self.cpu_parent = 0, None
        self.device_time_total = self.self_device_time_total = self.cuda_time_total = 0.0

    def add(self, event: Any) -> FunctionEventAvg:
        """Counts a range, or all that another average has; the first one gives the key."""
        if self.key is None:
            self.key = event.key
        self.flops += event.flops or 0
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
        open_of_thread: dict[int, list[Any]] = {}
        for e in self:
            if not isinstance(e, FunctionEvent):
                continue
            open_events = open_of_thread.setdefault(e.thread, [])
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

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One FunctionEventAvg a name; with ``group_by_input_shapes`` one a name and the sizes of its tensors.

        Errors: NotImplementedError for groups by stacks and overloads, which are not recorded.
        """
        if group_by_stack_n or group_by_overload_name:
            raise NotImplementedError(
                "key_averages(group_by_stack_n=, group_by_overload_name=) is not supported by shim-torch: stacks and overloads "
                "are not recorded"
            )
        found: dict[Any, FunctionEventAvg] = {}
        for e in self:
            key = (e.key, str(e.input_shapes)) if group_by_input_shapes else e.key
            average = found.setdefault(key, FunctionEventAvg(e.key))
            average.add(e)
            if group_by_input_shapes:
                average.input_shapes = e.input_shapes
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events as one average, named "Total"."""
        total = FunctionEventAvg("Total")
        for e in self:
            total.add(e)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A text table: name, times, calls; sizes and operations where they were recorded.

        ``max_src_column_width`` is of stacks, which are not recorded.
        """
        rows = [e for e in self if not (top_level_events_only and e.cpu_parent is not None)]
        if sort_by is not None:
            name = sort_by.replace("cuda_", "device_")
            rows.sort(key=lambda e: 0.0 if name in _NOT_RECORDED else getattr(e, name), reverse=True)
        whole = self.self_cpu_time_total
        columns = _COLUMNS + [c for c in _FURTHER_COLUMNS if any(c[2](e) for e in rows)]
        widths_of = {"Name": max_name_column_width, "Input Shapes": max_shapes_column_width}
        lines = [
            [_cut(text(e, whole), widths_of.get(title)) for title, text, _ in columns]
            for e in rows[: None if row_limit < 0 else row_limit]
        ]
        heads = [title for title, _, _ in columns]
        widths = [max(len(r[i]) for r in [heads, *lines]) for i in range(len(heads))]
        rule = "  ".join("-" * w for w in widths)
        text = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in [heads, *lines]]
        above = [] if header is None else ["=" * len(rule), header]
        return "\n".join([*above, rule, text[0], rule, *text[1:], rule, f"Self CPU time total: {_text(whole)}\n"])

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


# What PyTorch sorts by, too, and no event has here: as there, where it was not asked for, it is 0 of all.
_NOT_RECORDED = frozenset(
    "device_time device_time_total self_device_time_total cpu_memory_usage self_cpu_memory_usage device_memory_usage "
    "self_device_memory_usage".split()
)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "0.00%"


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: max(width - 3, 0)] + "..."


# Titles, what stands in the column, and whether an event has it.
_COLUMNS: list[tuple[str, Callable[[Any, float], str], Callable[[Any], Any]]] = [
    ("Name", lambda e, whole: str(e.key), bool),
    ("Self CPU %", lambda e, whole: _share(e.self_cpu_time_total, whole), bool),
    ("Self CPU", lambda e, whole: _text(e.self_cpu_time_total), bool),
    ("CPU total %", lambda e, whole: _share(e.cpu_time_total, whole), bool),
    ("CPU total", lambda e, whole: _text(e.cpu_time_total), bool),
    ("CPU time avg", lambda e, whole: _text(e.cpu_time_total / e.count), bool),
    ("# of Calls", lambda e, whole: str(e.count), bool),
]
_FURTHER_COLUMNS: list[tuple[str, Callable[[Any, float], str], Callable[[Any], Any]]] = [
    ("Input Shapes", lambda e, whole: str(e.input_shapes), lambda e: e.input_shapes),
    ("Total FLOPs", lambda e, whole: f"{e.flops:.3f}" if e.flops else "--", lambda e: e.flops),
]


def _format_time(time_us: float) -> str:
    """A time in microseconds with its unit."""
    return _text(time_us)


def _text(microseconds: float) -> str:
    for limit, scale, unit in ((1e6, 1e6, "s"), (1e3, 1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / scale:.3f}{unit}"
    return f"{microseconds:.3f}us"
