"""Attributes set for a while: each change is undone when its ExitStack closes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

_ABSENT = object()


def set_all(stack: ExitStack, changes: Iterable[tuple[Any, str, Any]]) -> None:
    """Sets attributes, given as (owner, name, value), until ``stack`` closes."""
    for owner, name, value in changes:
        set_for_a_while(stack, owner, name, value)


def set_for_a_while(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Sets an attribute until ``stack`` closes; a value that others have put there by then stays."""
    before = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name) is not value:
            return  # someone wrapped ours later; it passes everything through from now on
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    stack.callback(undo)
