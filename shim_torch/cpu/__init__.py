"""``torch.cpu``: the CPU seen through the interface of an accelerator."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def is_available() -> bool:
    """Always."""
    return True


def device_count() -> int:
    """One."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """There is one CPU device: nothing changes."""


def synchronize(device: Any = None) -> None:
    """CPU operators have finished when they return."""


def is_initialized() -> bool:
    """Always."""
    return True


class Stream:
    """The CPU has one stream; work on it is done when the call returns."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Does nothing: the CPU has one stream, whose work is done when it is called."""

    def record_event(self, event: Any = None) -> Any:
        """``event``, or a new one; recorded already, as all work is done."""
        return event or Event()

    def wait_event(self, event: Any) -> None:
        """Does nothing: events of the CPU are always done."""

    def synchronize(self) -> None:
        """Does nothing: no work is pending."""


class Event:
    """Work on the CPU is over when the call returns: an event has always happened."""

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Does nothing: the CPU has no queue to record into."""

    def synchronize(self) -> None:
        """Does nothing: no work is pending."""

    def wait(self, stream: Any = None) -> None:
        """Does nothing: no stream has to wait."""


_default = Stream()
_current = _default


def current_stream(device: Any = None) -> Stream:
    """The current stream."""
    return _current


class StreamContext(AbstractContextManager[Any]):
    """Makes a stream current for a ``with`` block."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream, self.previous = stream, _default

    def __enter__(self) -> Any:
        global _current
        self.previous = _current
        if self.stream is not None:
            _current = self.stream
        return self.stream

    def __exit__(self, *exc: Any) -> None:
        global _current
        _current = self.previous


def stream(stream: Stream) -> StreamContext:
    """``with torch.cpu.stream(s):``"""
    return StreamContext(stream)


def get_capabilities() -> dict[str, Any]:
    """The instruction sets of the CPU."""
    import platform

    from shim_torch._C import _cpu

    names = ("avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_fp16")
    return {"architecture": platform.machine(), **{n: getattr(_cpu, f"_is_{n}_supported")() for n in names}}


def __getattr__(name: str) -> Any:
    if name.endswith("_supported"):
        from shim_torch._C import _cpu

        return getattr(_cpu, "_is_avx512_vnni_supported" if name == "_is_vnni_supported" else name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.cpu", name)
