"""Spawned children get the scopes of their parent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

KEY = "shim_torch_scopes"
SPAWNING = tuple(f"{top}.spawn" for top in ("multiprocessing", "multiprocess", "loky.backend", "joblib.externals.loky.backend"))


class Scopes:
    """Travels in multiprocessing's preparation data; unpickling it in the child enables the scopes there."""

    def __init__(self, entries: list[tuple[Any, ...]]) -> None:
        self.entries = entries

    def __reduce__(self) -> tuple[Any, ...]:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        # The child's sys.path is not set up yet when it reads this.
        source = (
            f"import sys\nif {folder!r} not in sys.path: sys.path.append({folder!r})\n"
            f"from compat.child import adopt\nadopt({self.entries!r})\n"
        )
        return exec, (source,)


def adopt(entries: list[tuple[Any, ...]]) -> None:
    """Enables what the parent had enabled."""
    from compat import enable_torch_proxy

    for names, blocked, version in entries:
        enable_torch_proxy(set(names) if names is not None else None, blocked=set(blocked), version=version)


def changes(module: ModuleType, entries: Callable[[], list[tuple[Any, ...]]]) -> Iterator[tuple[Any, str, Any]]:
    """``get_preparation_data`` of a ``spawn`` module with the scopes added."""
    import functools

    original = module.get_preparation_data

    @functools.wraps(original)
    def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
        data = original(*args, **kwargs)
        found = entries()
        # Unpickled first, before the child imports its main module.
        return {KEY: Scopes(found), **data} if found else data

    yield module, "get_preparation_data", get_preparation_data
