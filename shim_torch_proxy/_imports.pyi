"""The hook's part in C++: ``native/src/python/imports`` and ``native/src/imports``."""

from collections.abc import Callable
from typing import Any

class Import:
    """An ``__import__`` whose answers ``PyImport_Import`` finds in ``sys.modules``."""

    def __init__(
        self,
        function: Callable[..., Any],
        loaded: dict[str, Any],
        builtins: dict[str, Any] = ...,
        special: Any = ...,
        hidden: set[str] = ...,
    ) -> None: ...
    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any: ...

def set_up(answer: Callable[[str, Any], Any], loaded: dict[str, Any], builtins: dict[str, Any]) -> None: ...
def bind(path: str, folder: str, flags: int) -> int: ...
def follow(source: dict[str, Any], copy: dict[str, Any], own: frozenset[str]) -> None: ...
