"""Streams and events of ``torch.cuda``.

The current stream has one source: CuPy's thread-local current stream once CuPy is loaded, else the native core's.
"""

from __future__ import annotations

import threading
from typing import Any

from shim_torch._impl.cuda import cupy_link
from shim_torch._impl.cuda.cupy_link import put_current
from shim_torch._impl.cuda.devices import index_of
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


class Stream:
    """A CUDA stream (torch.cuda.Stream): priority 0 or -1 (high). Streams come from a pool of 32 a device and priority."""

    _pools: dict[tuple[int, int], list[int]] = {}
    _next: dict[tuple[int, int], int] = {}
    _lock = threading.Lock()

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if "stream_ptr" in kwargs or "stream_id" in kwargs:
            self.device_index = int(kwargs.get("device_index", index_of(device)))
            self.cuda_stream = int(kwargs.get("stream_ptr", kwargs.get("stream_id", 0)))
        else:
            self.device_index = index_of(device)
            self.cuda_stream = self._pooled(self.device_index, min(0, max(-1, priority)))
        self.priority = priority

    @classmethod
    def _pooled(cls, device: int, priority: int) -> int:
        with cls._lock:
            pool = cls._pools.setdefault((device, priority), [])
            turn = cls._next[device, priority] = cls._next.get((device, priority), -1) + 1
            if len(pool) < 32:
                pool.append(_core.cuda_stream_create(device, priority))
                return pool[-1]
            return pool[turn % 32]

    device_type = 1

    @property
    def device(self) -> Any:
        """The CUDA device that the stream is on."""
        return _core.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        """The stream's ``cudaStream_t`` as a number, as ``cuda_stream``."""
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> Any:
        import ctypes

        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.cuda_stream)

    def synchronize(self) -> None:
        """Waits until all work on the stream is done."""
        _core.cuda_stream_synchronize(self.device_index, self.cuda_stream)

    def query(self) -> bool:
        """Whether all work is done."""
        return _core.cuda_stream_query(self.device_index, self.cuda_stream)

    def wait_event(self, event: Event) -> None:
        """Further work waits for the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Further work waits for what is on the other stream now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event (a new one if none is given)."""
        event = Event() if event is None else event
        event.record(self)
        return event

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(lowest, highest) priority."""
        return (0, -1)

    def is_capturing(self) -> bool:
        """Whether the stream's work is being captured into a graph."""
        return _core.cuda_stream_is_capturing(self.cuda_stream)

    def __enter__(self) -> Stream:
        entered = self.__dict__.setdefault("_entered", [])
        entered.append(stream(self))
        entered[-1].__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.__dict__["_entered"].pop().__exit__(*exc)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stream)
            and self.cuda_stream == other.cuda_stream
            and self.device_index == other.device_index
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream made by somebody else, by its pointer."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__(stream_ptr=stream_ptr, device_index=index_of(device))


def current_stream(device: Any = None) -> Stream:
    """The current stream of a device."""
    cupy_link.link_cupy()
    index = index_of(device)
    return Stream(stream_ptr=_core.cuda_current_stream(index), device_index=index)


def default_stream(device: Any = None) -> Stream:
    """The device's default stream."""
    return Stream(stream_ptr=0, device_index=index_of(device))


def raw_stream(index: int) -> int:
    """``torch._C._cuda_getCurrentRawStream``: the current stream's pointer."""
    if not cupy_link.linked:
        cupy_link.link_cupy()
    return _core.cuda_current_stream(index)


def _place(stream: Stream | None) -> tuple[int, int]:
    """A stream's device and pointer; of None, those of the current stream of the current device."""
    if stream is not None:
        return stream.device_index, stream.cuda_stream
    index = _core.cuda_current_device()
    return index, raw_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Makes a stream current on this thread."""
    if stream is not None:
        put_current(stream.device_index, stream.cuda_stream)


class stream:
    """Context manager: a stream (and its device) is current within; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self.device = _core.cuda_current_device()
        if self.stream.device_index != self.device:
            _core.cuda_set_device(self.stream.device_index)
        self.before = raw_stream(self.stream.device_index)
        put_current(self.stream.device_index, self.stream.cuda_stream)

    def __exit__(self, *exc: Any) -> None:
        if self.stream is None:
            return
        put_current(self.stream.device_index, self.before)
        if self.stream.device_index != self.device:
            _core.cuda_set_device(self.device)


StreamContext = stream


class Event:
    """A CUDA event (torch.cuda.Event), made at its first use."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if interprocess:
            raise NotImplementedError("torch.cuda.Event(interprocess=True) is not supported by shim-torch")
        self.enable_timing, self.blocking = enable_timing, blocking
        self.cuda_event = 0
        self.device_index = -1

    def _made(self, index: int) -> int:
        """The event, made on the device of the first stream it is recorded on."""
        if not self.cuda_event:
            flags = (1 if self.blocking else 0) | (0 if self.enable_timing else 2)
            self.cuda_event = _core.cuda_event_create(index, flags)
            self.device_index = index
        elif index != self.device_index:
            raise RuntimeError(f"Event device {self.device_index} does not match recording stream's device {index}.")
        return self.cuda_event

    @property
    def device(self) -> Any:
        """The CUDA device that the event was made on; None before its first use."""
        return None if self.device_index < 0 else _core.device("cuda", self.device_index)

    def record(self, stream: Stream | None = None) -> None:
        """Records on a stream, default the current one."""
        index, pointer = _place(stream)
        _core.cuda_event_record(index, self._made(index), pointer)

    def wait(self, stream: Stream | None = None) -> None:
        """Makes a stream wait for the event."""
        if self.cuda_event:
            index, pointer = _place(stream)
            _core.cuda_stream_wait_event(index, pointer, self.cuda_event)

    def query(self) -> bool:
        """Whether the recorded work is done."""
        return not self.cuda_event or _core.cuda_event_query(self.cuda_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.cuda_event and end_event.cuda_event):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return _core.cuda_event_elapsed(self.cuda_event, end_event.cuda_event)

    def synchronize(self) -> None:
        """Waits for the event."""
        if self.cuda_event:
            _core.cuda_event_synchronize(self.cuda_event)

    def __del__(self) -> None:
        if getattr(self, "cuda_event", 0):
            _core.cuda_event_destroy(self.cuda_event)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.cuda_event else "<torch.cuda.Event uninitialized>"


for _class in (Stream, ExternalStream, Event):
    _class.__module__ = "torch.cuda.streams" if _class is not Event else "torch.cuda"

naming.present(globals(), "torch.cuda")
