"""Batches in page-locked memory, from which copies to a GPU are asynchronous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from native import _core


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with every tensor in it pinned."""
    if isinstance(data, _core.TensorBase):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return (
            {k: pin_memory(v) for k, v in data.items()}
            if type(data) is dict
            else type(data)({k: pin_memory(v) for k, v in data.items()})  # type: ignore[call-arg]
        )
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v) for v in data))
    if isinstance(data, Sequence):
        return [pin_memory(v) for v in data]
    return data


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any = None) -> None:
    """Pins (number, batch) of one queue for the other until ``done_event`` is set: what a thread beside the loader runs."""
    import queue

    import shim_torch
    from shim_torch._utils import ExceptionWrapper

    from . import MP_STATUS_CHECK_INTERVAL

    shim_torch.set_num_threads(1)
    if shim_torch.cuda.is_available():
        shim_torch.cuda.set_device(device_id)
    while not done_event.is_set():
        try:
            number, batch = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not isinstance(batch, ExceptionWrapper):
            try:
                batch = pin_memory(batch, device)
            except Exception:
                batch = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, batch), timeout=MP_STATUS_CHECK_INTERVAL)
                break
            except queue.Full:
                continue
