"""``torch.autograd.profiler``: names for parts of a program, and profiles: operators, nodes of backward passes, named ranges.

Times are wall times of the host; kernels of a GPU are not traced.
"""

from __future__ import annotations

import threading
import time
from functools import wraps
from types import TracebackType
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.profiler.recorded import operator_events, write_trace
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


_RECORDED = ("record_shapes", "with_flops")
_SETTINGS = {*_RECORDED, "use_cuda", "profile_memory", "with_stack", "with_modules", "use_device", "use_kineto", "use_cpu", "experimental_config", "acc_events",
             "custom_trace_id_callback", "execution_trace_observer", "post_processing_timeout_s"}  # fmt: skip


def refuse_settings(where: str, settings: dict[str, Any]) -> None:
    """NotImplementedError for what is not recorded: kernels, memory, stacks; TypeError for other names."""
    for name, value in settings.items():
        if name not in _SETTINGS:
            raise TypeError(f"{where}.__init__() got an unexpected keyword argument '{name}'")
        if value and name not in (*_RECORDED, "use_kineto", "use_cpu", "acc_events", "post_processing_timeout_s"):
            raise NotImplementedError(
                f"{where}({name}={value!r}) is not supported by shim-torch: operators, backward nodes and ranges of "
                "record_function are recorded, no kernels, memory and stacks. Leave it out; Nsight Systems traces kernels"
            )


def _share_out() -> None:
    """Gives what the core recorded since the last time to the profiles that are on."""
    rows = _core._take_profile()
    for found in _active:
        found._rows += rows


def _switch() -> None:
    _core._set_profiling(bool(_active), any(p.record_shapes or p.with_flops for p in _active))


class profile:
    """Records operators, the nodes of backward passes and the ranges of ``record_function`` within a ``with`` block.

    record_shapes   events have the sizes of their tensors (``input_shapes``)
    with_flops      products and convolutions have an estimate of their operations (``flops``)
    """

    def __init__(
        self, enabled: bool = True, *, record_shapes: bool = False, with_flops: bool = False, **settings: Any
    ) -> None:
        refuse_settings("torch.autograd.profiler.profile", settings)
        self.enabled, self.use_cuda = enabled, False
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.function_events: EventList | None = None
        self._ranges: list[FunctionEvent] = []
        self._rows: list[Any] = []

    def _add(self, name: str, start: int, end: int) -> None:
        more: dict[str, Any] = {"is_user_annotation": True, "input_shapes": [] if self.record_shapes else None}
        self._ranges.append(
            FunctionEvent(len(self._ranges), name, threading.get_ident(), start / 1e3, end / 1e3, **more)
        )

    def __enter__(self) -> profile:
        if self.enabled:
            _share_out()
            _active.append(self)
            _switch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.enabled:
            return
        if _core.cuda_device_count():
            _core.cuda_synchronize(_core.cuda_current_device())
        _share_out()
        _active.remove(self)
        _switch()
        found = self._ranges + operator_events(self._rows, self.record_shapes, self.with_flops)
        self._rows = []
        found.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
        for number, event in enumerate(found):
            event.id = number
        self.function_events = EventList(found)

    def _events(self) -> EventList:
        if self.function_events is None:
            raise AssertionError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events by name (and sizes), with counts and sums: :meth:`EventList.key_averages`."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as a table."""
        return self._events().table(*args, **kwargs)

    def total_average(self) -> Any:
        """All events as one average."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a trace for chrome://tracing and Perfetto."""
        write_trace(path, self._events(), {})

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
