"""``torch.testing._utils``: random numbers that leave the generators as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """The CPU's and the current GPU's generators are afterwards where they were, whatever the block draws."""
    import shim_torch
    from shim_torch.utils._mode_utils import no_dispatch

    sources: list[Any] = [shim_torch, shim_torch.cuda] if shim_torch.cuda.is_available() else [shim_torch]
    with no_dispatch():  # a mode that is on is not to see these calls
        states = [source.get_rng_state() for source in sources]
    try:
        yield
    finally:
        with no_dispatch():
            for source, state in zip(sources, states, strict=True):
                source.set_rng_state(state)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``op(*args, **kwargs)`` with seed 42; the generators are left as they were."""
    import shim_torch

    with freeze_rng_state():
        shim_torch.manual_seed(42)
        return op(*args, **kwargs)
