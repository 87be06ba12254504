"""``torch.distributed.autograd``: gradients through remote calls. There is no remote calling: the names are, using them raises."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import ONE_PROCESS, declare, refuse

__all__ = ["context", "is_available"]


def is_available() -> bool:
    """Whether there are gradients through remote calls: no."""
    return False


class context:
    """The scope of one distributed backward pass; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        refuse("torch.distributed.autograd.context", ONE_PROCESS)


declare(globals(), ONE_PROCESS, "backward get_gradients")
