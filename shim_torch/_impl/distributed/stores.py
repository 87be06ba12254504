"""Stores of keys and values that the processes of a group agree by. The core keeps the values and talks to the others."""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.failures import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

__all__ = [
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "HashStore", "PrefixStore",
    "QueueEmptyError", "Store", "TCPStore",
]  # fmt: skip


class _Ask(enum.IntEnum):
    """What a store is asked: the core's numbers."""

    SET, GET, ADD, APPEND, SWAP, CHECK, WAIT, REMOVE, COUNT, LIST, PUSH, POP, LENGTH = range(13)


_LATE, _REFUSED = 1, 2


def _bytes(function: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(
        f"{function}(): incompatible function arguments. Expected a str or bytes, got {type(value).__name__}"
    )


def _milliseconds(timeout: Any) -> int:
    return max(0, int(timeout / timedelta(milliseconds=1)))


class Store:
    """What all stores are: values are bytes; ``get`` and ``wait`` wait until ``timeout`` (5 minutes) for other processes."""

    _core_store: Any = None
    _prefix = ""
    _own_keys = 0  # how many keys PyTorch's store of that kind has from the start
    _names_late_keys = False
    _timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        """How long ``get`` and ``wait`` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long ``get`` and ``wait`` wait for a key."""
        self._timeout = timeout

    def _call(
        self, ask: _Ask, keys: Sequence[str], value: bytes = b"", expected: bytes = b"", number: int = 0, timeout: Any = None
    ) -> Any:  # fmt: skip
        if self._core_store is None:
            raise NotImplementedError(
                f"torch.distributed.{type(self).__name__}: stores written in Python are not supported by shim-torch"
            )
        limit = _milliseconds(self.timeout if timeout is None else timeout)
        names = tuple(self._prefix + key for key in keys)
        outcome, *found = self._core_store.call(int(ask), names, value, expected, number, limit)
        if outcome == _LATE:
            text = f"wait timeout after {limit}ms, keys: {', '.join('/' + name for name in names)}"
            raise DistStoreError(text if self._names_late_keys else "Wait timeout")
        if outcome == _REFUSED:
            raise DistStoreError(found[1].decode())
        return found

    def set(self, key: str, value: str | bytes) -> None:
        """Sets a key, and wakes those who wait for it."""
        self._call(_Ask.SET, [key], _bytes("set", value))

    def get(self, key: str) -> bytes:
        """The value. Errors: DistStoreError when nobody sets it in time."""
        return self._call(_Ask.GET, [key])[1]  # type: ignore[no-any-return]

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, 0 at first; the sum. Errors: DistStoreError for a value that is no number."""
        return self._call(_Ask.ADD, [key], number=amount)[0]  # type: ignore[no-any-return]

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to a key's value, which may be absent."""
        self._call(_Ask.APPEND, [key], _bytes("append", value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets the key if it has the expected value, or neither exists; what it has then (or was expected, where it is not there)."""
        expected, desired = (_bytes("compare_set", value) for value in (expected_value, desired_value))
        return self._call(_Ask.SWAP, [key], desired, expected)[1]  # type: ignore[no-any-return]

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there; returns at once."""
        return bool(self._call(_Ask.CHECK, keys)[0])

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are there. Errors: DistStoreError when they do not come in time."""
        self._call(_Ask.WAIT, keys, timeout=timeout)

    def delete_key(self, key: str) -> bool:
        """Takes a key out; whether it was there."""
        return bool(self._call(_Ask.REMOVE, [key])[0])

    def num_keys(self) -> int:
        """The number of keys, with those that PyTorch's store keeps for itself."""
        return self._call(_Ask.COUNT, [])[0] + self._own_keys  # type: ignore[no-any-return]

    def list_keys(self) -> list[str]:
        """The keys."""
        return self._call(_Ask.LIST, [])[2]  # type: ignore[no-any-return]

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """``get`` of each key."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """``set`` of each key with its value."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Appends a value to the queue of a key."""
        self._call(_Ask.PUSH, [key], _bytes("queue_push", value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The oldest value. Errors: QueueEmptyError without block, DistStoreError when none comes in time."""
        try:
            return self._call(_Ask.POP, [key], timeout=None if block else timedelta(0))[1]  # type: ignore[no-any-return]
        except DistStoreError:
            if block:
                raise
        raise QueueEmptyError("queue is empty")

    def queue_len(self, key: str) -> int:
        """The length of a key's queue."""
        return self._call(_Ask.LENGTH, [key])[0]  # type: ignore[no-any-return]

    def has_extended_api(self) -> bool:
        """True: append, multi_get, multi_set and queues are there."""
        return True

    def clone(self) -> Store:
        """Another object for the same keys."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


class HashStore(Store):
    """Keys and values within this process, for all of its threads."""

    def __init__(self) -> None:
        self._core_store = _core.memory_store()


class FileStore(Store):
    """Keys and values in a file, for the processes that can lock it. ``world_size`` is how many there are (not needed)."""

    _own_keys = 1

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = os.fspath(file_name)
        self._core_store = _core.file_store(self.path)


class PrefixStore(Store):
    """Another store, whose keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store
        self._core_store, self._prefix = store._core_store, f"{store._prefix}{prefix}/"
        self._own_keys, self._names_late_keys = store._own_keys, store._names_late_keys

    @property
    def _underlying_non_prefix_store(self) -> Any:
        return getattr(self.underlying_store, "_underlying_non_prefix_store", self.underlying_store)

    @property
    def timeout(self) -> timedelta:
        """The timeout of the store below."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the timeout of the store below."""
        self.underlying_store.set_timeout(timeout)

    def __getattr__(self, name: str) -> Any:
        if name in ("host", "port", "path", "libuvBackend"):
            return getattr(self.__dict__["underlying_store"], name)
        raise AttributeError(f"'PrefixStore' object has no attribute '{name}'")


class TCPStore(Store):
    """Keys and values in the process that is master, for all that reach its port (0: a free one).

    Errors: DistNetworkError where the port is taken or nobody answers; DistStoreError where not all of ``world_size``
    processes come in time (``wait_for_workers``).
    """

    _own_keys = 1
    _names_late_keys = True

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: Any = None,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        if timeout is not None:
            self.set_timeout(timeout)
        listening = -1 if master_listen_fd is None else master_listen_fd
        self.host, self.libuvBackend = host_name, use_libuv
        limit = _milliseconds(self.timeout)
        self._core_store, self.port = _core.tcp_store(host_name, port, limit, bool(is_master), listening)
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._wait_for_workers(world_size)

    def _wait_for_workers(self, size: int) -> None:
        end = time.monotonic() + self.timeout.total_seconds()
        there = self._call(_Ask.ADD, ["init/"], number=1)[0]
        self._own_keys = 0
        if there % size == 0:
            self._call(_Ask.SET, [f"init/{there // size}"], b"1")
        try:
            left = timedelta(seconds=max(0.0, end - time.monotonic()))
            self._call(_Ask.WAIT, [f"init/{(there + size - 1) // size}"], timeout=left)
        except DistStoreError:
            there = self._call(_Ask.ADD, ["init/"])[0]
            raise DistStoreError(
                f"Timed out after {int(self.timeout.total_seconds())} seconds waiting for clients. "
                f"{there}/{size} clients joined."
            ) from None


naming.present(globals(), "torch._C._distributed_c10d", {"torch.distributed": ["DistError"]})
