"""``torch.distributed.tensor.experimental._attention``: settings of attention over several devices, of which there are none."""

from __future__ import annotations

from shim_torch.distributed.tensor.experimental import context_parallel

__all__ = ["context_parallel", "set_rotate_method"]

_METHODS = ("alltoall", "allgather")
_rotate_method = "alltoall"


def set_rotate_method(rotate_method: str) -> None:
    """How keys and values go round: "allgather" or "alltoall". Errors: NotImplementedError for another."""
    global _rotate_method
    if rotate_method not in _METHODS:
        raise NotImplementedError(f"Context Parallel does not support using {rotate_method} for kv shards rotation")
    _rotate_method = rotate_method
