"""Batches in page-locked memory, from which copies to a GPU are asynchronous."""

from __future__ import annotations

import contextlib
import functools
import queue
from collections.abc import Callable
from typing import Any

from shim_torch._impl.utils.containers import contents, is_container, refilled


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with every tensor in it pinned, and whatever else has a ``pin_memory`` method."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return refilled(data, [pin_memory(v, device) for v in contents(data)], tuples=True) if is_container(data) else data


def _patiently(step: Callable[..., Any], done_event: Any) -> Any:
    """What ``step`` of a queue returns, tried again while it is empty or full; None once ``done_event`` is set."""
    from . import MP_STATUS_CHECK_INTERVAL

    while not done_event.is_set():
        with contextlib.suppress(queue.Empty, queue.Full):
            return step(timeout=MP_STATUS_CHECK_INTERVAL)
    return None


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any = None) -> None:
    """Pins (number, batch) of one queue for the other until ``done_event`` is set: what a thread beside the loader runs."""
    import shim_torch
    from shim_torch._utils import ExceptionWrapper

    shim_torch.set_num_threads(1)
    if shim_torch.cuda.is_available():
        shim_torch.cuda.set_device(device_id)
    for number, batch in iter(lambda: _patiently(in_queue.get, done_event), None):
        try:
            result = batch if isinstance(batch, ExceptionWrapper) else pin_memory(batch, device)
        except Exception:
            result = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        _patiently(functools.partial(out_queue.put, (number, result)), done_event)
