"""A ``vmap`` that runs: what it hides of tensors, and what begins and ends with it."""

from __future__ import annotations

import itertools
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms import levels as _levels
from shim_torch._impl.transforms.batching.autograd_function import apply
from shim_torch._impl.transforms.batching.randomness import RandomMode
from shim_torch._impl.transforms.batching.tensors import (
    BatchedTensor,
    lift,
    stack,
    unwrapped_with_history,
    wrapped_with_history,
)

_ids = itertools.count(1)  # never the same again: tensors of a vmap may outlive it in a graph


class Level:
    """A running ``vmap``: its batch size and what random operators do."""

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness, self.id = size, randomness, next(_ids)
        self.kind, self.depth = "Vmap", 0
        self._mode = RandomMode(self)

    def __enter__(self) -> Level:
        stack.append(self)
        _levels.begin(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        _levels.end(self)
        stack.remove(self)

    def wrap(self, x: Any, dim: int = 0) -> Any:
        """A tensor whose dim ``dim`` is the batch, as one without it; gradients flow through."""
        x = x.movedim(dim, 0) if dim % x.dim() else x
        return wrapped_with_history(x, self.id)

    def unwrap(self, x: Any, dim: int) -> Any:
        """The whole batch of a result, its batch dim at ``dim``."""
        if not (isinstance(x, BatchedTensor) and x.level == self.id):
            x = x.expand((self.size, *x.shape))
        else:
            x = unwrapped_with_history(x, self.id)
        return x.movedim(0, dim) if dim else x


_core.set_batching(BatchedTensor, lift, apply)
