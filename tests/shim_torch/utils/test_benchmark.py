"""``torch.utils.benchmark``: tables and texts as PyTorch prints them (the expected ones are PyTorch 2.13's)."""

from __future__ import annotations

import pickle
import timeit

import pytest

import shim_torch as torch
from shim_torch.utils import benchmark
from shim_torch.utils.benchmark import Compare, Measurement, TaskSpec, Timer
from shim_torch.utils.benchmark.utils import common, compare, timer


def measured(*times: float, number: int = 1, **fields: object) -> Measurement:
    return Measurement(number, [t * number for t in times], TaskSpec(**{"stmt": "x + 1", "setup": "pass", **fields}))


def test_parts():
    assert (
        benchmark.Timer is timer.Timer
        and benchmark.Compare is compare.Compare
        and benchmark.Measurement is common.Measurement
    )
    m = pickle.loads(pickle.dumps(measured(1.0, 2.0, label="l")))
    assert m == measured(1.0, 2.0, label="l") and m.label == "l" and m.num_threads == 1 and m.env is None
    with pytest.raises(AttributeError, match="'Measurement' object has no attribute 'gone'"):
        m.gone
    with pytest.raises(AttributeError):
        benchmark.gone


def test_texts_of_measurements():
    m = measured(1e-6, 2e-6, 3e-6, 10e-6, number=100, label="add", sub_label="small", description="d", setup="y = 1")
    assert repr(m).splitlines()[1:] == [
        "add: small",
        "d",
        "setup: y = 1",
        "  Median: 2.50 us",
        "  IQR:    3.00 us (1.75 to 4.75)",
        "  4 measurements, 100 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 120.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]
    assert repr(measured(2.0, num_threads=3)).splitlines()[1:] == [
        "x + 1",
        "  2.00 s",
        "  1 measurement, 1 runs , 3 threads",
    ]
    assert measured(1.0, stmt="a\nb", sub_label="s").title == "stmt: (s)\n  a\n  b"
    assert measured(1.0, stmt="a", sub_label="s").title == "a: s"


def test_statistics():
    m = measured(1.0, 1.01, 1.02, 1.03, 1.2)
    assert (m.median, m.significant_figures, m.has_warnings) == (1.02, 2, False)
    assert (
        m.iqr == pytest.approx(0.02)
        and m.mean == pytest.approx(1.052)
        and m.meets_confidence()
        and not m.meets_confidence(0.01)
    )
    assert measured(1.0).significant_figures == 4
    assert [benchmark.trim_sigfig(3.14159, n) for n in (1, 3)] == [3.0, pytest.approx(3.14)]
    figures = [benchmark.trim_sigfig(x, 2) for x in (1234.567, -98.76, 1.0, 99.95, 3.14159e10)]
    assert figures == [1200.0, -99.0, 1.0, 100.0, 31000000512.0]
    with pytest.raises(AssertionError, match="Number of significant figures must be an integer"):
        benchmark.trim_sigfig(1.0, 2.5)
    assert [benchmark.select_unit(t)[0] for t in (1e-10, 5e-9, 2e-6, 0.5, 20.0)] == ["s", "ns", "us", "ms", "s"]
    assert benchmark.unit_to_english("us") == "microsecond" and benchmark.ordered_unique([2, 1, 2]) == [2, 1]


def rows(**more: object) -> list[Measurement]:
    return [
        measured(10e-6, label="L", sub_label="one", description="a", **more),
        measured(25e-6, label="L", sub_label="one", description="b", **more),
        measured(1.23456e-3, label="L", sub_label="two", description="a", **more),
    ]


def test_tables():
    table = Compare([*rows(), *rows(num_threads=2)])
    assert str(table).splitlines() == [
        "[------------ L ------------]",
        "           |    a     |   b  ",
        "1 threads: ------------------",
        "      one  |    10.0  |  25.0",
        "      two  |  1234.6  |      ",
        "2 threads: ------------------",
        "      one  |    10.0  |  25.0",
        "      two  |  1234.6  |      ",
        "",
        "Times are in microseconds (us).",
    ]
    table = Compare(rows())
    table.trim_significant_figures()
    table.colorize()
    assert str(table).splitlines()[3:5] == [
        "      one  |  \x1b[92m\x1b[1m  10\x1b[0m\x1b[0m  |  \x1b[92m\x1b[1m25.0\x1b[0m\x1b[0m",
        "      two  |  \x1b[31m\x1b[1m1235\x1b[0m\x1b[0m  |      ",
    ]
    spread = measured(1e-3, 2e-3, 3e-3, 4e-3, label="L", description="d", env="e")
    table = Compare([spread, measured(1e-3, label="L", description="d", env="other")])
    table.highlight_warnings()
    assert str(table).splitlines() == [
        "[------------- L --------------]",
        "                  |       d     ",
        "1 threads: ---------------------",
        "  (e)      x + 1  |  2.5 (! 60%)",
        "  (other)  x + 1  |   1.0       ",
        "",
        "Times are in milliseconds (ms).",
        "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.",
    ]
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([1])


class _Clock(timeit.Timer):
    """Calls take a second each, every other three."""

    def timeit(self, number: int = 1) -> float:
        self.runs = getattr(self, "runs", 0) + 1
        return number * (3.0 if self.runs % 2 == 0 else 1.0) + 1e-6


def test_timers():
    m = Timer("torch.ones(n)", globals={"n": 2}, num_threads=1).timeit(10)  # torch is there without being given
    assert m.number_per_run == 10 and len(m.raw_times) == 1
    assert Timer("\n    x = 1\n    x\n", "\n  y = 2\n").timeit(2).task_spec == TaskSpec("x = 1\nx", "y = 2")
    before = torch.get_num_threads()
    seen: list[tuple[int, float]] = []
    m = Timer("pass", num_threads=2).blocked_autorange(lambda *run: seen.append(run), min_run_time=0.001)
    assert [t for _, t in seen] == m.raw_times and sum(m.raw_times) >= 0.001 and torch.get_num_threads() == before
    clocked = type("Clocked", (Timer,), {"_timer_cls": _Clock})("pass")
    m = clocked.adaptive_autorange(min_run_time=1, max_run_time=20)
    assert m.number_per_run == 1 and sum(m.raw_times) > 20  # quartiles never come near each other
    assert len(clocked.adaptive_autorange(threshold=2, min_run_time=1).raw_times) == 4


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"stmt": 3}, ValueError, "Currently only a `str` stmt is supported."),
        ({"language": "x"}, ValueError, "Invalid language `x`."),
        ({"global_setup": "y"}, ValueError, "global_setup is C\\+\\+ only, got `y`"),
        ({"language": "c++"}, NotImplementedError, "only Python statements"),
    ],
)
def test_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        Timer(**arguments)
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        Timer().autorange()
