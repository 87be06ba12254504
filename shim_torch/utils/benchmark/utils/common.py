"""``torch.utils.benchmark.utils.common``: what is timed, and what was measured."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from math import ceil, floor, log10, sqrt
from typing import Any

from shim_torch._impl.native import _core

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}
_SPREAD, _GROSS_SPREAD = 0.1, 0.25  # interquartile range over median, from which a measurement carries a warning
_FIGURES = 4
_LEAST_INTERVAL = 25e-9  # seconds: no clock does better


def select_unit(t: float) -> tuple[str, float]:
    """The unit that shows a time of ``t`` seconds best, and its length in seconds."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(log10(t) // 3) if t > 0 else 0, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The word for a unit that ``select_unit`` gives. Errors: KeyError."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """``x`` with ``n`` significant figures, rounded in float32."""
    import numpy as np

    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    with np.errstate(divide="ignore"):
        figures = ceil(np.float32(np.log10(abs(float(np.float32(x))))))  # before the point
    last = 10 ** (figures - n)  # what a one in the last figure is worth
    return float(np.rint(np.float32(x / last)) * np.float32(last))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in the order of their first."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """``torch.set_num_threads(n)`` within."""
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(n)
        yield
    finally:
        _core.set_num_threads(before)


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """What is timed, without the names that it sees."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the sub-label."""
        name = self.label if self.label is not None else self.stmt if "\n" not in self.stmt else None
        if name is not None:
            return f"{name}: {self.sub_label}" if self.sub_label else name
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as ``summarize`` shows it."""
        if not self.setup or self.setup == "pass":
            return ""
        return "setup:\n" + textwrap.indent(self.setup, "  ") if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, those that there are."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


_FIELDS = frozenset(field.name for field in fields(TaskSpec))


@dataclass(repr=False)
class Measurement:
    """The times of one statement; ``raw_times`` are seconds for ``number_per_run`` calls.

    The fields of its ``task_spec`` are attributes of it, too. All statistics are seconds a call.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds a call, one for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @cached_property
    def _sorted(self) -> list[float]:
        return sorted(self.times)

    def _quantile(self, q: float) -> float:
        place = q * (len(self._sorted) - 1)
        low = floor(place)
        high = min(low + 1, len(self._sorted) - 1)
        return self._sorted[low] + (place - low) * (self._sorted[high] - self._sorted[low])

    @property
    def median(self) -> float:
        """The median seconds of a run; -1 without measurements."""
        return self._quantile(0.5) if self.raw_times else -1.0

    @property
    def mean(self) -> float:
        """The mean seconds of a run; -1 without measurements."""
        return sum(self._sorted) / len(self._sorted) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        return self._quantile(0.75) - self._quantile(0.25) if self.raw_times else 0.0

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Whether the quartiles are nearer to each other than this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def significant_figures(self) -> int:
        """How many figures of the median the middle half of the times supports, one to four."""
        count = len(self._sorted)
        middle = self._sorted[count // 4 : -(-3 * count // 4)]
        mean = sum(middle) / len(middle)
        deviation = sqrt(sum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(1.645 * deviation / sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(floor(log10(self.median / interval)), 1), _FIGURES)

    @property
    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence():
            return ""
        gross = not self.meets_confidence(_GROSS_SPREAD)
        advice = (
            "This suggests significant environmental influence." if gross else "This could indicate system fluctuation."
        )
        part = f"{self.iqr / self.median * 100:.1f}% of the median measurement."
        return f"  WARNING: Interquartile range is {part}\n           {advice}"

    @property
    def has_warnings(self) -> bool:
        """Whether the times are too far from each other to be trusted."""
        return bool(self._warning)

    @property
    def title(self) -> str:
        """The title of what was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What the row of this measurement is called in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count, threads = len(self.raw_times), self.task_spec.num_threads
        unit, scale = select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = (self._quantile(q) / scale for q in (0.25, 0.75))
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if count > 1 else ','}"
        ending = "s" if threads > 1 else ""
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {runs} {threads} thread{ending}")
        return "\n".join([*lines, self._warning]).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task put together, as runs of one call."""
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, found, task) for task, found in times.items()]
