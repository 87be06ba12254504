"""``torch.utils.benchmark.utils.timer``: statements timed with the GPU's work waited for."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils.benchmark.utils.common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


def timer() -> float:
    """The time in seconds, after all work of the current device is done."""
    if _core.cuda_device_count():
        _core.cuda_synchronize(_core.cuda_current_device())
    return time.perf_counter()


class Language(enum.Enum):
    """The language of the measured statement."""

    PYTHON = 0
    CPP = 1


def _tidy(text: str) -> str:
    return textwrap.dedent(text).removeprefix("\n").rstrip()


class Timer:
    """Times a Python statement, which sees ``globals`` and ``torch``; each run waits for the GPU.

    Errors: ValueError for a statement that is no text, a ``global_setup`` (C++ has one) and an unknown language;
    NotImplementedError for C++.
    """

    _timer_cls: Any = timeit.Timer

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
        language: Language | str = Language.PYTHON,
    ) -> None:
        import shim_torch as torch

        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("torch.utils.benchmark.Timer: only Python statements are supported by shim-torch")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._globals = {"torch": torch, **(globals or {})}
        self._language = Language.PYTHON
        stmt, setup = _tidy(stmt), _tidy(setup)
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(float(self._timer.timeit(number)), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One run of ``number`` calls, after a warm-up of a hundredth of them."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError: use ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raises NotImplementedError: use ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _estimate_block_size(self, min_run_time: float) -> int:
        """A number of calls, a power of ten, that takes long beside the clock's own time; they are the warm-up."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = median(self._timeit(0) for _ in range(5))
            least = max(overhead * 1e4, min_run_time / 1000)  # seconds, of which the clock's are a ten-thousandth
            sizes = (10**power for power in range(10))  # a C int holds the last
            return next(n for n in sizes if n == 10**9 or self._timeit(n) >= min(least, min_run_time))

    def _runs(
        self,
        number: int,
        enough: Callable[[list[float]], bool],
        callback: Callable[[int, float], Any] | None,
        max_run_time: float = float("inf"),
    ) -> list[float]:
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while not enough(times) and sum(times) <= max_run_time:
                times.append(self._timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return times

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs of a size that hides the clock's cost, until ``min_run_time`` seconds are measured.

        ``callback`` gets the number of calls and the seconds of each run.
        """
        number = self._estimate_block_size(min_run_time)
        return self._measured(
            number, self._runs(number, lambda times: bool(times) and sum(times) >= min_run_time, callback)
        )

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Like ``blocked_autorange``, until four runs or more have quartiles within ``threshold`` of the median."""
        number = self._estimate_block_size(min_run_time=0.05)

        def enough(times: list[float]) -> bool:
            return (
                len(times) > 3
                and sum(times) >= min_run_time
                and self._measured(number, times).meets_confidence(threshold)
            )

        return self._measured(number, self._runs(number, enough, callback, max_run_time))

    def collect_callgrind(self, *_: Any, **__: Any) -> None:
        """Raises NotImplementedError: instructions are not counted."""
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind is not supported by shim-torch")
