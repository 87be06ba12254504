"""``torch._functorch.apis``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from shim_torch.func import grad, grad_and_value, vmap
from shim_torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """``vmap`` in so many chunks of the batch, one after another."""
    if chunks == 1:
        return vmap(func, in_dims, out_dims, randomness)

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        import shim_torch
        from shim_torch._functorch.vmap import _process_batched_inputs, get_chunk_sizes
        from shim_torch.utils._pytree import _broadcast_to_and_flatten

        size, dims, flat, spec = _process_batched_inputs(in_dims, args, func)
        parts: list[list[Any]] = []
        found_spec: Any = None
        state = shim_torch.get_rng_state() if randomness == "same" else None
        start = 0
        for count in get_chunk_sizes(size, -(-size // chunks)):
            if state is not None:
                shim_torch.set_rng_state(state)
            given = [x if d is None else x.narrow(d, start, count) for x, d in zip(flat, dims, strict=True)]
            found = vmap(func, in_dims, out_dims, randomness)(*tree_unflatten(given, spec), **kwargs)
            leaves, found_spec = tree_flatten(found)
            parts.append(leaves)
            start += count
        places = _broadcast_to_and_flatten(out_dims, found_spec) or []
        joined = [shim_torch.cat(column, d) for column, d in zip(zip(*parts, strict=True), places, strict=True)]
        return tree_unflatten(joined, found_spec)

    return wrapped
