"""``torch.distributed.tensor.experimental``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]
_rules: dict[Any, Any] = {}


def register_sharding(op: Any) -> Callable[[Any], Any]:
    """A decorator: notes an operator's sharding rule and gives the function back; there are no distributed tensors to apply it to."""

    def decorate(function: Any) -> Any:
        for one in op if isinstance(op, (list, tuple)) else [op]:
            _rules[one] = function
        return function

    return decorate


def local_map(func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A function on the local parts of distributed tensors: there are none, it is called as it is."""
    return func if func is not None else lambda f: f


@contextlib.contextmanager
def context_parallel(
    mesh: Any, *, buffers: Any = None, buffer_seq_dims: Any = None, no_restore_buffers: Any = None
) -> Iterator[None]:
    """Attention over a sequence that the mesh's devices share: on one device it is whole. Errors: NotImplementedError for more."""
    if mesh.size() != 1:
        raise NotImplementedError(
            "torch.distributed.tensor.experimental.context_parallel is not supported by shim-torch for several devices"
        )
    if len(buffers or ()) != len(buffer_seq_dims or ()):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    yield


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Plain tensors count as replicated: there are only plain ones."""
    yield
