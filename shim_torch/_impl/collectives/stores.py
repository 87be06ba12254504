"""Stores of keys and values that the processes of a group agree by; here there is one process."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from datetime import timedelta
from typing import Any

from shim_torch._impl.surface import naming


class DistError(RuntimeError):
    """What goes wrong between processes."""

    __module__ = "torch.distributed"


class DistBackendError(DistError):
    """A backend's failure."""

    __module__ = "torch.distributed"


class DistNetworkError(DistError):
    """A failure of the network."""

    __module__ = "torch.distributed"


class DistStoreError(DistError):
    """A key that did not come in time."""

    __module__ = "torch.distributed"


class QueueEmptyError(DistStoreError):
    """A queue of a store with nothing in it."""

    __module__ = "torch.distributed"


class Store:
    """What all stores are: values are bytes; ``get`` and ``wait`` wait until ``timeout`` (5 minutes) for other threads."""

    timeout = timedelta(seconds=300)

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long ``get`` and ``wait`` wait for a key."""
        self.timeout = timeout


def _bytes(function: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(
        f"{function}(): incompatible function arguments. Expected a str or bytes, got {type(value).__name__}"
    )


class HashStore(Store):
    """Keys and values within this process, for all of its threads."""

    _own_keys = 0  # how many keys PyTorch's store of that kind has from the start

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: str | bytes) -> None:
        """Sets a key, and wakes those who wait for it."""
        value = _bytes("set", value)
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """The value. Errors: DistStoreError when nobody sets it in time."""
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, 0 at first; the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to a key's value, which may be absent."""
        with self._changed:
            self._values[key] = self._values.get(key, b"") + _bytes("append", value)
            self._changed.notify_all()

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets the key if it has the expected value, or neither exists; what it has then (or was expected, where it is not there)."""
        expected = _bytes("compare_set", expected_value)
        with self._changed:
            if self._values.get(key, b"") == expected:
                self._values[key] = _bytes("compare_set", desired_value)
                self._changed.notify_all()
            return self._values.get(key, expected)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there; returns at once."""
        return all(k in self._values or self._queues.get(k) for k in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are there. Errors: DistStoreError when they do not come in time."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            while not self.check(keys):
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    if self.check(keys):
                        return
                    raise DistStoreError("Wait timeout")

    def delete_key(self, key: str) -> bool:
        """Takes a key out; whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """The number of keys, with those that PyTorch's store keeps for itself."""
        return len(self._values) + self._own_keys

    def list_keys(self) -> list[str]:
        """The keys."""
        return list(self._values)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """``get`` of each key."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """``set`` of each key with its value."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Appends a value to the queue of a key."""
        with self._changed:
            self._queues.setdefault(key, deque()).append(_bytes("queue_push", value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The oldest value. Errors: QueueEmptyError without block, DistStoreError when none comes in time."""
        if block:
            self.wait([key])
        with self._changed:
            if not self._queues.get(key):
                raise QueueEmptyError("queue is empty")
            return self._queues[key].popleft()

    def queue_len(self, key: str) -> int:
        """The length of a key's queue."""
        return len(self._queues.get(key, ()))

    def has_extended_api(self) -> bool:
        """True: append, multi_get, multi_set and queues are there."""
        return True

    def clone(self) -> HashStore:
        """The same store."""
        return self


class FileStore(HashStore):
    """The store of a group of one process: the file exists, and holds nothing, for nobody else reads it.

    Errors: NotImplementedError for more processes.
    """

    _own_keys = 1

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        if world_size > 1:
            raise NotImplementedError(
                f"torch.distributed.FileStore(world_size={world_size}): shim-torch has groups of one process only"
            )
        super().__init__()
        self.path = os.fspath(file_name)
        with open(self.path, "ab"):
            pass


class PrefixStore(Store):
    """Another store, whose keys begin with a prefix."""

    def __init__(self, prefix: str, store: HashStore) -> None:
        self.prefix, self.underlying_store = prefix, store

    @property
    def _underlying_non_prefix_store(self) -> Any:
        return getattr(self.underlying_store, "_underlying_non_prefix_store", self.underlying_store)

    @property
    def timeout(self) -> timedelta:  # type: ignore[override]
        """The timeout of the store below."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets the timeout of the store below."""
        self.underlying_store.set_timeout(timeout)

    def clone(self) -> PrefixStore:
        """The store itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(HashStore, name, None)):
            raise AttributeError(f"'PrefixStore' object has no attribute '{name}'")
        prefix, method = vars(self)["prefix"], getattr(vars(self)["underlying_store"], name)

        def call(*args: Any, **kwargs: Any) -> Any:
            key, *rest = args or [None]
            if isinstance(key, str):
                key = f"{prefix}/{key}"
            elif isinstance(key, (list, tuple)):
                key = [f"{prefix}/{k}" for k in key]
            else:
                return method(*args, **kwargs)
            return method(key, *rest, **kwargs)

        return call


class TCPStore(HashStore):
    """The store of a group of one process: nobody else asks for the port, so none is opened.

    Errors: NotImplementedError for a client, and for more processes.
    """

    _own_keys = 1
    libuvBackend = True

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
        if not is_master or world_size not in (None, 1):
            raise NotImplementedError(
                f"torch.distributed.TCPStore(world_size={world_size}, is_master={is_master}): shim-torch has groups of one "
                "process only"
            )
        super().__init__()
        if timeout is not None:
            self.set_timeout(timeout)
        self.host, self.port, self.libuvBackend = host_name, port or _free_port(), use_libuv


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


naming.present(globals(), "torch._C._distributed_c10d")
