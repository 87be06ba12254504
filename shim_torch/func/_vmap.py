"""``vmap`` as what it means: the function once for each item of a batch, and the results stacked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from native import _core
from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function over batches: calls ``func`` for every item and stacks what it gives.

    in_dims: the dim of each argument that is the batch, None where an argument is the same for all. It costs as many calls as
    there are items. Random operators draw anew for every item (``randomness="different"``).
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if randomness == "same":
        raise NotImplementedError("torch.func.vmap(randomness='same') is not supported by shim-torch")

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = _in_dims(in_dims, args, spec)
        size = _size(leaves, dims, func)
        results = []
        for i in range(size):
            picked = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims, strict=True)]
            results.append(func(*tree_unflatten(picked, spec), **kwargs))
        if not results:
            raise NotImplementedError("torch.func.vmap over a batch of size 0 is not supported by shim-torch")
        return _stacked(results, out_dims)

    return wrapped


def _in_dims(in_dims: Any, args: Any, spec: Any) -> list[int | None]:
    if not isinstance(in_dims, (int, list, tuple)):
        raise ValueError(
            f"vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    wanted = in_dims if isinstance(in_dims, int) else tuple(in_dims)
    found = _broadcast_to_and_flatten(wanted, spec, is_leaf=lambda x: x is None or isinstance(x, int))
    if found is None:
        raise ValueError(
            f"vmap: in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but "
            f"inputs has structure {spec}."
        )
    return found


def _size(leaves: list[Any], dims: list[int | None], func: Any) -> int:
    sizes = set()
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            continue
        if not isinstance(x, _core.TensorBase):
            raise ValueError(
                f"vmap({getattr(func, '__name__', func)}): Got in_dim={d} for an input but the input is of type {type(x)}. We cannot "
                "vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.dim() <= d < x.dim():
            raise ValueError(
                f"vmap: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim to "
                f"satisfy -{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[i] = d % x.dim()
        sizes.add(x.size(d))
    if not sizes:
        raise ValueError("vmap: all in_dims are None: at least one input must have a dim to map over")
    if len(sizes) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for the mapped dimension"
        )
    return sizes.pop()


def _stacked(results: list[Any], out_dims: Any) -> Any:
    import shim_torch

    flat = [tree_flatten(r) for r in results]
    spec = flat[0][1]
    dims = _broadcast_to_and_flatten(out_dims, spec, is_leaf=lambda x: x is None or isinstance(x, int))
    if dims is None:
        raise ValueError(f"vmap: out_dims is not compatible with the structure of the outputs: {spec}")
    made = []
    for k, d in enumerate(dims):
        column = [leaves[k] for leaves, _ in flat]
        if not all(isinstance(x, _core.TensorBase) for x in column):
            raise ValueError(f"vmap: the function must only return Tensors, got type {type(column[0])}.")
        made.append(column[0] if d is None else shim_torch.stack(column, d))
    return tree_unflatten(made, spec)
