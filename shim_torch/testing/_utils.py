"""``torch.testing._utils``: random numbers that leave the generators as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._missing import asked_of as _asked_of


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """The CPU's and the current GPU's generators are afterwards where they were, whatever the block draws."""
    import shim_torch
    from shim_torch.utils._mode_utils import no_dispatch

    with_gpu = shim_torch.cuda.is_available()
    with no_dispatch():
        state = shim_torch.get_rng_state()
        gpu_state = shim_torch.cuda.get_rng_state() if with_gpu else None
    try:
        yield
    finally:
        with no_dispatch():  # a mode of the block's is not to see these
            if gpu_state is not None:
                shim_torch.cuda.set_rng_state(gpu_state)
            shim_torch.set_rng_state(state)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``op(*args, **kwargs)`` with seed 42; the generators are left as they were."""
    import shim_torch

    with freeze_rng_state():
        shim_torch.manual_seed(42)
        return op(*args, **kwargs)

__getattr__ = _asked_of(__name__)
