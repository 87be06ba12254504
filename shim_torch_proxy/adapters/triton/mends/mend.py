"""What a mend is: a change of one of Triton's modules, and the Triton versions that need it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import ModuleType
from typing import Any

NEWEST = (3, 10)  # the first Triton that no mend was tested with


class Patch:
    """Sets attributes of Triton's objects and remembers what was there."""

    def __init__(self, stack: ExitStack | None) -> None:
        self._stack = stack

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``; undone with the stack, if there is one."""
        if self._stack is not None:
            if name in vars(owner):
                self._stack.callback(setattr, owner, name, vars(owner)[name])
            else:
                self._stack.callback(delattr, owner, name)
        setattr(owner, name, value)

    def undone(self, undo: Callable[[], object]) -> None:
        """Calls ``undo`` where the patch is undone; never, where it stays for the process (no stack)."""
        if self._stack is not None:
            self._stack.callback(undo)


@dataclass(frozen=True)
class Mend:
    """One mend: of ``module``, for ``since <= Triton < until``."""

    name: str
    what: str
    module: str
    apply: Callable[[ModuleType, Patch], None]
    since: tuple[int, int] = (3, 4)
    until: tuple[int, int] = NEWEST

    def wanted(self, version: tuple[int, int]) -> bool:
        """Whether this Triton needs it."""
        return self.since <= version < self.until
