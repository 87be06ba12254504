"""Files of tensors that are spread."""

from __future__ import annotations

from typing import Any

from shim_torch._weights_only_unpickler import add_safe_globals
from shim_torch.distributed.tensor.placement_types import _StridedShard


def allow(kinds: list[Any]) -> None:
    """``torch.load(weights_only=True)`` takes these classes and functions, as PyTorch's does."""
    every = [*kinds, _StridedShard]
    add_safe_globals([(kind, f"{kind.__module__.replace('shim_torch', 'torch', 1)}.{kind.__name__}") for kind in every])
