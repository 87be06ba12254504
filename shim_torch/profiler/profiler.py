"""``torch.profiler.profile`` and its schedule."""

from __future__ import annotations

import json
import os
import socket
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import accumulate
from types import TracebackType
from typing import Any
from warnings import warn

from shim_torch._impl.native import _core
from shim_torch._impl.profiler.recorded import write_trace
from shim_torch.autograd import profiler as _ranges

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What PyTorch can record; here what the CPU does."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What is done in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def _default_schedule_fn(_: int) -> ProfilerAction:
    """The schedule of a profiler that was given none: every step is recorded."""
    return ProfilerAction.RECORD


def supported_activities() -> set[ProfilerActivity]:
    """What is recorded here."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function step -> action: ``skip_first`` steps, then cycles of waiting, warming up and recording.

    ``repeat``: how many cycles, 0 for no end. ``skip_first_wait`` other than 0: the first cycle does not wait.
    Errors: AssertionError for negative numbers of steps.
    """
    if min(wait, warmup, active - 1, repeat, skip_first) < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    # The actions' numbers are their order in a cycle: where in it each of the first three is over.
    ends = tuple(accumulate((wait, warmup, active - 1)))
    cycle = ends[-1] + 1
    begin = skip_first if skip_first_wait == 0 else skip_first - wait  # of the first cycle, which need not wait

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        done, place = divmod(step - begin, cycle)
        if step < skip_first or 0 < repeat <= done:
            return ProfilerAction.NONE
        return ProfilerAction(bisect_right(ends, place))

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` that writes each trace to a folder."""

    def handle(found: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        found.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))

    return handle


def _recordable(activities: Iterable[ProfilerActivity]) -> set[ProfilerActivity]:
    """Those asked for. Errors: NotImplementedError for kernels of a GPU that is there."""
    asked = set(activities)
    if not any(isinstance(a, ProfilerActivity) for a in asked):
        raise AssertionError("No valid profiler activities found")
    if ProfilerActivity.CUDA in asked and not _core.cuda_device_count():
        warn("CUDA is not available, disabling CUDA profiling", stacklevel=3)
        asked.discard(ProfilerActivity.CUDA)
    if more := [getattr(a, "name", str(a)) for a in asked - supported_activities()]:
        raise NotImplementedError(
            f"torch.profiler.profile(activities=...) with ProfilerActivity.{', '.join(more)} is not supported by shim-torch: "
            "kernels are not traced. Use Nsight Systems, where torch.autograd.profiler.emit_nvtx shows the ranges"
        )
    return asked or supported_activities()


class profile:
    """Records operators, backward nodes and ranges of ``record_function``: all of a ``with`` block, or a schedule's steps.

    record_shapes   events have the sizes of their tensors
    with_flops      products and convolutions have an estimate of their operations
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        **settings: Any,
    ) -> None:
        _ranges.refuse_settings("torch.profiler.profile", settings)
        self.activities = _recordable(activities) if activities else supported_activities()
        self._scheduled = schedule is not None
        self.schedule = schedule or _default_schedule_fn
        self.on_trace_ready, self.step_num = on_trace_ready, 0
        self.current_action = self.schedule(0)
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.profiler: _ranges.profile | None = None
        self._metadata: dict[str, Any] = {}

    def start(self) -> None:
        """Begins with step 0."""
        self.current_action = self.schedule(self.step_num)
        self._enter()

    def _records(self) -> bool:
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def _enter(self) -> None:
        if self._records() and self.profiler is None:
            recorded = _ranges.profile(record_shapes=self.record_shapes, with_flops=self.with_flops)
            self.profiler = recorded.__enter__()

    def _finish(self) -> None:
        if self.profiler is not None and self.profiler.function_events is None:
            self.profiler.__exit__(None, None, None)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def stop(self) -> None:
        """Ends the recording."""
        if self._records():
            self._finish()

    def step(self) -> None:
        """The next step begins."""
        previous = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._scheduled and previous is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
            self.profiler = None
        self._enter()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _found(self) -> _ranges.profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self.profiler

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """The events by name (and sizes), with counts and sums: ``EventList.key_averages``."""
        return self._found().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> Any:
        """Operators, nodes and ranges in the order they began."""
        return self._found()._events()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a trace for chrome://tracing and Perfetto."""
        write_trace(path, self._found()._events(), self._metadata)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that stands at the top of the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """What JSON text says, at the top of the trace."""
        self._metadata[key] = json.loads(value)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Raises NotImplementedError: stacks are not recorded."""
        raise NotImplementedError("torch.profiler.profile.export_stacks is not supported by shim-torch")

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Raises NotImplementedError: memory is not recorded over time."""
        raise NotImplementedError("torch.profiler.profile.export_memory_timeline is not supported by shim-torch")
