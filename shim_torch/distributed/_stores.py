"""Stores of keys and values that processes of a group agree by; here there is one process."""

from __future__ import annotations

from typing import Any


class HashStore:
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
