"""``torch.Stream``, and ``torch._streambase``: the base classes of streams and events, by their older names."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch.cuda import streams as _cuda

__all__ = ["_EventBase", "_StreamBase"]

_EventBase = _cuda.Event


# Numbers of device types (c10::DeviceType) that torch.device knows by name.
_KINDS = {0: "cpu", 1: "cuda", 9: "xla", 10: "vulkan", 12: "xpu", 13: "mps", 14: "meta", 15: "hpu"}


class _Kind(type):
    """``isinstance`` of ``torch.Stream`` holds for streams of every device."""

    def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if device is None and "stream_ptr" not in kwargs:
            if "device_type" in kwargs:
                on_host = int(kwargs["device_type"]) != _cuda.Stream.device_type
            else:
                on_host = not _core.cuda_device_count()
        else:
            on_host = isinstance(device, (str, _core.device)) and _core.device(device).type == "cpu"
        return super().__call__(device, *args, **kwargs) if on_host else _cuda.Stream(device, *args, **kwargs)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _cuda.Stream) or type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _cuda.Stream) or type.__subclasscheck__(cls, kind)


class Stream(metaclass=_Kind):
    """``torch.Stream(device=None, *, priority=0)``: a stream of that device, without one of the GPU, if there is one.

    A stream of the CPU is always done: calls there return when their work is. Events of it raise RuntimeError.
    """

    def __init__(
        self, device: Any = None, priority: int = 0, *, stream_id: int = 0, device_index: int = -1, device_type: int = 0
    ) -> None:
        self.priority, self.stream_id, self.device_index, self.device_type = (
            priority,
            stream_id,
            device_index,
            device_type,
        )

    @property
    def device(self) -> Any:
        """The device that the stream belongs to."""
        kind = _KINDS.get(self.device_type, "cpu")
        return _core.device(kind) if self.device_index < 0 else _core.device(kind, self.device_index)

    def query(self) -> bool:
        """True: nothing is ever left to do."""
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def record_event(self, event: Any = None) -> Any:
        """Raises RuntimeError: only CUDA streams have events."""
        raise RuntimeError("cpu backend doesn't support events.")

    def wait_event(self, event: Any) -> None:
        """Raises RuntimeError: only CUDA streams have events."""
        raise RuntimeError("cpu backend doesn't support events.")

    def wait_stream(self, stream: Any) -> None:
        """Raises RuntimeError: only CUDA streams have events."""
        raise RuntimeError("cpu backend doesn't support events.")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_type, self.device_index, self.stream_id) == (
            other.device_type,
            other.device_index,
            other.stream_id,
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={_KINDS.get(self.device_type, self.device_type)}, device_index={self.device_index}, stream_id={self.stream_id}"


Stream.__module__ = "torch"
_StreamBase = Stream
