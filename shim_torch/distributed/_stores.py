"""Stores of keys and values that processes of a group agree by; here there is one process."""

from __future__ import annotations

from typing import Any


class Store:
    """What all stores are."""


class HashStore(Store):
    """Keys and values within this process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: Any) -> None:
        self._values[key] = value if isinstance(value, bytes) else str(value).encode()

    def get(self, key: str) -> bytes:
        """The value; RuntimeError when nobody set it, for nobody else will."""
        if key not in self._values:
            raise RuntimeError(f"Key {key} not found in store")
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, 0 at first; the sum."""
        total = int(self._values.get(key, b"0")) + amount
        self.set(key, total)
        return total

    def check(self, keys: list[str]) -> bool:
        return all(k in self._values for k in keys)

    def wait(self, keys: list[str], timeout: Any = None) -> None:
        for key in keys:
            self.get(key)

    def delete_key(self, key: str) -> bool:
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._values)


class PrefixStore(HashStore):
    """Another store, whose keys begin with a prefix."""

    def __init__(self, prefix: str, store: HashStore) -> None:
        self.prefix, self.underlying_store = prefix, store

    def set(self, key: str, value: Any) -> None:
        self.underlying_store.set(f"{self.prefix}/{key}", value)

    def get(self, key: str) -> bytes:
        return self.underlying_store.get(f"{self.prefix}/{key}")

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(f"{self.prefix}/{key}", amount)

    def check(self, keys: list[str]) -> bool:
        return self.underlying_store.check([f"{self.prefix}/{k}" for k in keys])

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(f"{self.prefix}/{key}")

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()


class TCPStore(HashStore):
    """The store of a group of one process: nobody else asks for the port, so none is opened.

    Errors: NotImplementedError for a client, and for more processes.
    """

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
        self.host, self.port = host_name, port
