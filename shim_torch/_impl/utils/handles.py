"""What registering a hook gives back."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any


class RemovableHandle:
    """Takes a hook out of its table(s) again (torch.utils.hooks.RemovableHandle); also a context manager."""

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        others = extra_dict if isinstance(extra_dict, list) else [extra_dict] if isinstance(extra_dict, dict) else ()
        self._hold(hooks_dict, RemovableHandle.next_id, others)

    def _hold(self, hooks: Any, number: int, others: Any) -> None:
        """Keeps weak references to the tables under ``number``, which no later handle gets."""
        self.hooks_dict_ref, self.id = weakref.ref(hooks), number
        self.extra_dict_ref = tuple(map(weakref.ref, others))
        RemovableHandle.next_id = max(RemovableHandle.next_id, number + 1)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref)

    def __setstate__(self, state: Any) -> None:
        hooks, number, *extra = state
        others = extra[0] if extra else ()
        lost = OrderedDict  # in place of a table that no longer existed
        self._hold(lost() if hooks is None else hooks, number, [lost() if d is None else d for d in others])

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


RemovableHandle.__module__ = "torch.utils.hooks"
