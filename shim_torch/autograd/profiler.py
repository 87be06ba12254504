"""``torch.autograd.profiler``: names for parts of a program, and a small profile of them.

What is recorded are the ranges of ``record_function``, the calls of operators and the nodes of backward: wall time of the host. What
views and other cheap methods do without an operator's call is not seen, nor are kernels of a GPU.
"""

from __future__ import annotations

import threading
import time
from functools import wraps
from types import TracebackType
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "KinetoStepTracker", "emit_itt", "emit_nvtx", "profile", "record_function"]

_active: list[profile] = []
_enabled = threading.local()


def _is_profiler_enabled() -> bool:
    return bool(_active)


class record_function:
    """A named range: ``with record_function("forward"):`` or as a decorator. Within ``emit_nvtx`` it is an NVTX range too."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._start = time.perf_counter_ns()
        self._nvtx = emit_nvtx.active
        if self._nvtx:
            from shim_torch.cuda import nvtx

            nvtx.range_push(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        for found in _active:
            found._add(self.name, self._start, time.perf_counter_ns())
        if self._nvtx:
            from shim_torch.cuda import nvtx

            nvtx.range_pop()

    def __call__(self, func: Any) -> Any:
        @wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return wrapped


_REFUSED = ("use_cuda", "profile_memory", "with_stack", "with_flops", "with_modules")
_SETTINGS = {*_REFUSED, "record_shapes", "use_device", "use_kineto", "use_cpu", "experimental_config", "acc_events",
             "custom_trace_id_callback", "execution_trace_observer", "post_processing_timeout_s"}  # fmt: skip


def refuse_settings(where: str, settings: dict[str, Any]) -> None:
    """NotImplementedError for what is not recorded; TypeError for other names."""
    for name, value in settings.items():
        if name not in _SETTINGS:
            raise TypeError(f"{where}.__init__() got an unexpected keyword argument '{name}'")
        if value and name not in ("record_shapes", "use_kineto", "use_cpu", "acc_events", "post_processing_timeout_s"):
            raise NotImplementedError(
                f"{where}({name}={value!r}) is not supported by shim-torch: names, times and shapes of operators are recorded, "
                "no kernels of a GPU, memory, stacks or operations. Leave it out; Nsight Systems traces kernels"
            )


def _collect() -> None:
    """Gives the calls that were logged to all who record now."""
    for name, thread, begin, end, shapes in _core.call_log_stop():
        for found in _active:
            found._add(name, begin, end, thread, input_shapes=shapes)


class profile:
    """Records operators, nodes of backward and the ranges of ``record_function`` within a ``with`` block.

    ``record_shapes``: the events' ``input_shapes`` are the sizes of the arguments, [] for what is no tensor.
    """

    def __init__(self, enabled: bool = True, **settings: Any) -> None:
        refuse_settings("torch.autograd.profiler.profile", settings)
        self.enabled, self.use_cuda = enabled, False
        self.record_shapes = bool(settings.get("record_shapes"))
        self.function_events: EventList | None = None
        self._ranges: list[FunctionEvent] = []

    def _add(self, name: str, start: int, end: int, thread: int | None = None, **more: Any) -> None:
        thread = threading.get_ident() if thread is None else thread
        self._ranges.append(FunctionEvent(len(self._ranges), name, thread, start / 1e3, end / 1e3, **more))

    def __enter__(self) -> profile:
        if self.enabled:
            _collect()
            _active.append(self)
            _core.call_log_start(any(found.record_shapes for found in _active))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.enabled:
            return
        if _core.cuda_device_count():
            _core.cuda_synchronize(_core.cuda_current_device())
        _collect()
        _active.remove(self)
        if _active:
            _core.call_log_start(any(found.record_shapes for found in _active))
        self.function_events = EventList(sorted(self._ranges, key=lambda e: (e.time_range.start, -e.time_range.end)))

    def _events(self) -> EventList:
        if self.function_events is None:
            raise AssertionError("Profiler didn't finish running")
        return self.function_events

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """The events by name (and by shapes, with ``group_by_input_shape``), with counts and sums."""
        return self._events().key_averages(*args, **kwargs)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a table."""
        return self._events().table(*args, **kwargs)

    def total_average(self) -> Any:
        """All events as one average."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the ranges as a trace for chrome://tracing."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' own microseconds."""
        return self._events().self_cpu_time_total

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    __repr__ = __str__


class emit_nvtx:
    """Makes ``record_function`` push NVTX ranges within a ``with`` block."""

    active = False

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        self._old, emit_nvtx.active = emit_nvtx.active, self.enabled
        return self

    def __exit__(self, *_: object) -> None:
        emit_nvtx.active = self._old


class emit_itt:
    """Makes ``record_function`` mark ITT ranges: NotImplementedError when entered, there is no ITT library here."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_itt:
        if self.enabled:
            raise NotImplementedError("torch.autograd.profiler.emit_itt is not supported by shim-torch")
        return self

    def __exit__(self, *_: object) -> None:
        return None


class KinetoStepTracker:
    """Counts steps by who makes them."""

    _steps: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Starts to count the steps of ``requester``, from the present step."""
        cls._steps[requester] = cls.current_step()

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forgets ``requester``; whether it was known."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """One step more of ``requester``; gives the present step."""
        cls._steps[requester] = cls._steps.get(requester, cls.current_step()) + 1
        return cls.current_step()

    @classmethod
    def current_step(cls) -> int:
        """The most steps that a requester counted."""
        return max(cls._steps.values(), default=0)
