"""``torch.utils._stats``: counts of calls by name."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

simple_call_counter: OrderedDict[str, int] = OrderedDict()
F = TypeVar("F", bound=Callable[..., Any])


def count_label(label: str) -> None:
    """One more of this label."""
    simple_call_counter[label] = simple_call_counter.get(label, 0) + 1


def count(fn: F) -> F:
    """The function, its calls counted by its qualified name."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        count_label(fn.__qualname__)
        return fn(*args, **kwargs)

    return wrapper  # type: ignore[return-value]
