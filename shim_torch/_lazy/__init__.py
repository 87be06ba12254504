"""``torch._lazy``: tensors whose operators run later. There are none: a tensor on the device ``lazy`` is refused."""

from __future__ import annotations

from typing import Any


def _refuse(name: str) -> Any:
    raise NotImplementedError(f"torch._lazy.{name} is not supported by shim-torch: there are no lazy tensors")


def mark_step(device: str = "", wait: bool = False) -> None:
    _refuse("mark_step")


def wait_device_ops(devices: Any = None) -> None:
    _refuse("wait_device_ops")


def sync_multi(tensors: Any, devices: Any) -> None:
    _refuse("sync_multi")


def get_tensor_id(tensor: Any) -> int:
    return int(_refuse("get_tensor_id"))


def to_cpu(tensors: Any, devices: Any = None) -> Any:
    return _refuse("to_cpu")


def save(tensors: Any, *args: Any, **kwargs: Any) -> None:
    _refuse("save")
