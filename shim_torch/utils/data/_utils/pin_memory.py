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
