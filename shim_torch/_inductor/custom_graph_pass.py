"""``torch._inductor.custom_graph_pass``: passes of users over graphs, which are not built here."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from functools import cache
from typing import Any


class CustomGraphPass(ABC):
    """A function of a graph, with an id for caches."""

    @abstractmethod
    def __call__(self, graph: Any) -> None: ...

    @abstractmethod
    def uuid(self) -> Any:
        """What tells this pass from others in the key of a compiled graph; None: no caching."""


class CustomGraphModulePass(CustomGraphPass):
    """A function of a graph module, with an id for caches."""


@cache
def get_hash_for_files(paths: tuple[str, ...], extra: str = "") -> bytes:
    """The SHA-256 of files' contents."""
    found = hashlib.sha256()
    found.update(extra.encode())
    for path in paths:
        with open(path, "rb") as f:
            found.update(path.encode())
            found.update(f.read())
    return found.digest()
