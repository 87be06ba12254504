"""``torch._functorch.vmap``: the parts that ``vmap`` is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import Tensor
from shim_torch._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from shim_torch._impl.transforms.batching.level import Level
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, stack
from shim_torch._impl.transforms.batching.vmap import (
    _create_batched_inputs,
    _maybe_remove_batch_dim,
    _process_batched_inputs,
    _unwrap_batched,
    _validate_and_get_batch_size,
    vmap,
)
from shim_torch._impl.transforms.batching.vmap import _name as _get_name
from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = [
    "Tensor",
    "_add_batch_dim",
    "_create_batched_inputs",
    "_get_name",
    "_maybe_remove_batch_dim",
    "_process_batched_inputs",
    "_remove_batch_dim",
    "_unwrap_batched",
    "_validate_and_get_batch_size",
    "get_chunk_sizes",
    "is_batchedtensor",
    "restore_vmap",
    "unwrap_batched",
    "vmap",
    "vmap_impl",
    "wrap_batched",
]


def vmap_impl(
    func: Any, in_dims: Any, out_dims: Any, randomness: str, chunk_size: Any, *args: Any, **kwargs: Any
) -> Any:
    """``vmap(func, ...)(*args, **kwargs)``."""
    return vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)


def get_chunk_sizes(total_elems: int, chunk_size: int) -> list[int]:
    """The sizes of chunks: all ``chunk_size`` but a last one with the rest."""
    whole, rest = divmod(total_elems, chunk_size)
    return [chunk_size] * whole + ([rest] if rest else [])


def restore_vmap(func: Any, in_dims: Any, batch_size: int, randomness: str) -> Callable[..., Any]:
    """As ``vmap``, but gives (results, their batch dims): a result without the batch stays as it is, with dim None."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        with Level(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)

    return inner


def _running(level: Any) -> Level:
    return level if isinstance(level, Level) else next(s for s in stack if s.depth == level)


def wrap_batched(args: Any, bdims: Any, level: Any) -> Any:
    """The arguments with their batch dims hidden."""
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec, is_leaf=lambda d: d is None or isinstance(d, int))
    if dims is None:
        raise AssertionError("flat_bdims must not be None")
    level = _running(level)
    return tree_unflatten([x if d is None else level.wrap(x, d) for x, d in zip(flat, dims, strict=True)], spec)


def unwrap_batched(args: Any, level: Any) -> tuple[Any, Any]:
    """(values, batch dims) of tensors of a level: 0, or None for one without the batch."""
    level = _running(level)
    flat, spec = tree_flatten(args)
    if not flat:
        return args, ()
    mine = [isinstance(x, BatchedTensor) and x.level == level.id for x in flat]
    values = [level.unwrap(x, 0) if m else x for x, m in zip(flat, mine, strict=True)]
    return tree_unflatten(values, spec), tree_unflatten([0 if m else None for m in mine], spec)
