"""How a loader's worker processes are started."""

from __future__ import annotations

from typing import Any


def context_of(given: Any) -> Any:
    """A context of multiprocessing: itself, or by the name of how it starts processes."""
    import multiprocessing.context

    if isinstance(given, multiprocessing.context.BaseContext):
        return given
    if not isinstance(given, str):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start "
            f"method, but got multiprocessing_context={given}"
        )
    known = multiprocessing.get_all_start_methods()
    if given in known:
        return multiprocessing.get_context(given)
    raise ValueError(
        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
        f"multiprocessing_context={given!r}"
    )
