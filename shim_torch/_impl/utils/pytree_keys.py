"""The keys that lead to the leaves of a tree."""

from __future__ import annotations

from typing import Any, NamedTuple

from shim_torch._impl.surface import naming

__all__ = ["GetAttrKey", "MappingKey", "SequenceKey"]


class SequenceKey(NamedTuple):
    """A place in a tuple or list."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, obj: Any) -> Any:
        """The element of ``obj`` at the index."""
        return obj[self.idx]


class MappingKey(NamedTuple):
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, obj: Any) -> Any:
        """The element of ``obj`` at the key."""
        return obj[self.key]


class GetAttrKey(NamedTuple):
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of ``obj``."""
        return getattr(obj, self.name)


naming.present(globals(), "torch.utils._pytree")
