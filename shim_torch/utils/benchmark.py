"""``torch.utils.benchmark``: timing statements with the GPU's work waited for."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median, quantiles
from typing import Any

from native import _core
from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def timer() -> float:
    """The time in seconds, after all work of the current device is done."""
    if _core.cuda_device_count():
        _core.cuda_synchronize(_core.cuda_current_device())
    return time.perf_counter()


def select_unit(t: float) -> tuple[str, float]:
    """The unit that shows a time best, and its length in seconds."""
    for unit, size in _UNITS.items():
        if t >= size:
            return unit, size
    return "ns", 1e-9


@dataclass(frozen=True)
class TaskSpec:
    """What is timed."""

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
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else "stmt:\n" + self.stmt


@dataclass
class Measurement:
    """The times of one statement; ``raw_times`` are seconds for ``number_per_run`` calls."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @cached_property
    def times(self) -> list[float]:
        """Seconds a call, one for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return median(self.times)

    @property
    def mean(self) -> float:
        return sum(self.times) / len(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles, in seconds."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        return 4

    @property
    def has_warnings(self) -> bool:
        return self.iqr > 0.1 * self.median

    @property
    def title(self) -> str:
        return self.task_spec.title

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in TaskSpec.__dataclass_fields__:
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}, {self.number_per_run} runs per measurement"
        spread = f"  IQR:    {self.iqr / scale:.2f} {unit}\n" if len(self.times) > 1 else ""
        threads = self.task_spec.num_threads
        return (
            f"{object.__repr__(self)}\n{self.title}\n  Median: {self.median / scale:.2f} {unit}\n{spread}  {runs}, "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task put together."""
        grouped: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            grouped.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in g for t in m.times], spec, None) for spec, g in grouped.items()]


class Timer:
    """Times a Python statement; each run waits for the GPU."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if language not in ("python", "py", 0):
            raise NotImplementedError("torch.utils.benchmark.Timer: only Python statements are supported by shim-torch")
        import textwrap

        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip() or "pass"
        names = dict(globals or {})
        self._task = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _threads(self) -> Any:
        return _Threads(self._task.num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One run of ``number`` calls, after a short warm-up."""
        with self._threads():
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if taken >= min(min_run_time / 1000, 0.01) * 10 or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], None] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of a size that hides the timer's cost, until ``min_run_time`` seconds are measured."""
        with self._threads():
            times: list[float] = []
            number = self._block_size(min_run_time)
            while sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Like ``blocked_autorange``, until the quartiles are within ``threshold`` of the median."""
        with self._threads():
            times: list[float] = []
            number = self._block_size(min_run_time)
            while sum(times) < max_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                found = Measurement(number, times, self._task)
                if sum(times) > min_run_time and len(times) > 3 and found.iqr < threshold * found.median:
                    break
        return Measurement(number, times, self._task)

    def collect_callgrind(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind is not supported by shim-torch")


class _Threads:
    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> None:
        self._old = _core.get_num_threads()
        _core.set_num_threads(self.count)

    def __exit__(self, *_: object) -> None:
        _core.set_num_threads(self._old)


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Times are shown with few figures anyway."""

    def colorize(self, rowwise: bool = False) -> None:
        """The table stays without colours."""

    def highlight_warnings(self) -> None:
        """The table stays without marks."""

    def print(self) -> None:
        print(str(self))

    def __str__(self) -> str:
        tables = []
        for label in dict.fromkeys(m.task_spec.label or m.task_spec.stmt for m in self._results):
            tables.append(_table(label, [m for m in self._results if (m.task_spec.label or m.task_spec.stmt) == label]))
        return "\n".join(tables)


def _table(label: str, found: list[Measurement]) -> str:
    columns = list(dict.fromkeys(m.task_spec.description or m.task_spec.env or "" for m in found))
    rows = list(dict.fromkeys(m.task_spec.sub_label or m.task_spec.stmt for m in found))
    unit, scale = select_unit(min(m.median for m in found))
    cells: dict[tuple[str, str], str] = {}
    for m in Measurement.merge(found):
        spec = m.task_spec
        cells[spec.sub_label or spec.stmt, spec.description or spec.env or ""] = f"{m.median / scale:.1f}"
    first = max(len(r) for r in rows)
    widths = [max(len(c), *(len(cells.get((r, c), "")) for r in rows)) for c in columns]
    lines = [" " * first + "  |  " + "  |  ".join(c.center(w) for c, w in zip(columns, widths, strict=True))]
    for r in rows:
        lines.append(
            r.ljust(first)
            + "  |  "
            + "  |  ".join(cells.get((r, c), "").rjust(w) for c, w in zip(columns, widths, strict=True))
        )
    width = max(map(len, lines))
    return "\n".join([f"[{f' {label} '.center(width - 2, '-')}]", *lines, f"\nTimes are in {_WORDS[unit]} ({unit})."])


_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
