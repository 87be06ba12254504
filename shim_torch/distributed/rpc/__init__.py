"""``torch.distributed.rpc``: calls between processes. There is one process here: the names are, calling raises."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether there is remote calling: no."""
    return False


def _is_current_rpc_agent_set() -> bool:
    """Whether ``init_rpc`` was called: no."""
    return False


def _refuse(name: str) -> Any:
    def call(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"torch.distributed.rpc.{name} is not supported by shim-torch: groups have one process")

    call.__name__ = call.__qualname__ = name
    return call


class RRef:
    """A reference to a value of another process; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("RRef")()


class WorkerInfo:
    """The name and number of a process; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("WorkerInfo")()


PyRRef = RRef
for _name in "init_rpc shutdown rpc_sync rpc_async remote get_worker_info _get_current_rpc_agent".split():
    globals()[_name] = _refuse(_name)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed.rpc", name)
