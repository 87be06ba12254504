"""``vmap``: a function of one item as a function of batches."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.transforms.batching.level import Level
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, stack
from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function over batches: ``func`` sees one item, each operator runs once for all of them.

    in_dims: the dim of each argument that is the batch, None where an argument is the same for all; out_dims: where the
    batch is in each result. randomness: what random operators do: "error", "different" for every item, or the "same" for
    all. chunk_size: how many items are computed at a time. Operators without a batching rule run once for each item.
    """
    if randomness not in ("error", "different", "same", "legacy"):  # the last: of torch._vmap_internals
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, spec = _step("_process_batched_inputs")(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return _run(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
        return _in_chunks(func, leaves, dims, spec, size, out_dims, randomness, kwargs, chunk_size)

    return wrapped


def _step(name: str) -> Callable[..., Any]:
    """A helper of ``vmap``, looked up in ``torch._functorch.vmap``, where libraries (tensordict) patch it."""
    public = sys.modules.get("shim_torch._functorch.vmap")
    return vars(public if public is not None else sys.modules[__name__])[name]


def _name(func: Any) -> str:
    """The name of a function, in messages."""
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _is_dim(x: Any) -> bool:
    return x is None or isinstance(x, int)


def _process_batched_inputs(in_dims: Any, args: Any, func: Any) -> tuple[int, list[int | None], list[Any], Any]:
    """The size of the batch, the batch dim of every leaf (not negative), the leaves and their structure."""
    leaves, spec = tree_flatten(args)
    dims = _leaf_dims(in_dims, leaves, spec, _name(func))
    return _validate_and_get_batch_size(dims, leaves), dims, leaves, spec


def _leaf_dims(in_dims: Any, leaves: list[Any], spec: Any, name: str) -> list[int | None]:
    """``in_dims`` for every leaf of arguments of that structure; ``name``: of the function. Errors: ValueError."""
    begin = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    has_kind = isinstance(in_dims, (int, tuple))
    has_inputs = spec.num_children > 0
    dims = _broadcast_to_and_flatten(in_dims, spec, is_leaf=_is_dim) if has_kind and has_inputs else None
    if dims is not None:
        return [_checked_dim(x, d, f"{begin}Got in_dim={d} for ") for x, d in zip(leaves, dims, strict=True)]
    if has_kind and not has_inputs:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    reason = (
        f"in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but "
        f"inputs has structure {spec}."
        if has_kind
        else "expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
        f"got: {type(in_dims)}."
    )
    raise ValueError(begin + reason)


def _checked_dim(x: Any, d: Any, start: str) -> int | None:
    """The batch dim ``d`` of an input, not negative; ``start``: how an error's text begins."""
    if not _is_dim(d):
        raise ValueError(f"{start}an input but in_dim must be either an integer dimension or None.")
    if d is None:
        return None
    if not isinstance(x, _core.TensorBase):
        raise ValueError(
            f"{start}an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please use None "
            "as the respective in_dim"
        )
    if not -x.dim() <= d < x.dim():
        raise ValueError(
            f"{start}some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim to satisfy "
            f"-{x.dim()} <= in_dim < {x.dim()}."
        )
    return d % x.dim()


def _validate_and_get_batch_size(flat_in_dims: list[int | None], flat_args: list[Any]) -> int:
    """The size that the batch dims have in common. Errors: ValueError for no batch, or sizes that differ."""
    sizes = dict.fromkeys(x.size(d) for x, d in zip(flat_args, flat_in_dims, strict=True) if d is not None)
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(sizes) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {list(sizes)} for the mapped "
            "dimension"
        )
    return next(iter(sizes))


def _running(level: int) -> Level:
    return next(s for s in stack if s.depth == level)


def _create_batched_inputs(
    flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: Any
) -> Any:
    """The arguments of the function: tensors with a batch dim without it."""
    level = _running(vmap_level)
    given = [x if d is None else level.wrap(x, d) for x, d in zip(flat_args, flat_in_dims, strict=True)]
    return tree_unflatten(given, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any:
    """The results of the function, with the batch at ``out_dims``."""
    name = _name(func)
    results, spec = tree_flatten(batched_outputs)

    def outside(x: Any, dim: int | None) -> Any:
        return _maybe_remove_batch_dim(name, x, vmap_level, batch_size, dim)

    return tree_unflatten(list(map(outside, results, _out_dims(out_dims, results, spec, func))), spec)


def _run(func: Any, leaves: Any, dims: Any, spec: Any, size: int, out_dims: Any, randomness: str, kwargs: Any) -> Any:
    with Level(size, randomness) as level:
        found = func(*_step("_create_batched_inputs")(dims, leaves, level.depth, spec), **kwargs)
        return _step("_unwrap_batched")(found, out_dims, level.depth, size, func)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """A result of the function ``name`` with its batch at ``out_dim``; None: it has none. Errors: ValueError."""
    x = batched_output
    if out_dim is None:
        if isinstance(x, BatchedTensor) and x.depth == vmap_level:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return x
    if not isinstance(x, _core.TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to None "
            "for output?"
        )
    return _running(vmap_level).unwrap(x, out_dim)


def _out_dims(out_dims: Any, results: list[Any], spec: Any, func: Any) -> list[Any]:
    name = _name(func)

    def refused(structure: Any) -> ValueError:
        return ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {structure} but outputs has structure {spec}."
        )

    if isinstance(results, list) and len(results) == 1 and isinstance(results[0], _core.TensorBase) and spec.is_leaf():
        if isinstance(out_dims, int):
            return [out_dims]
        if isinstance(out_dims, tuple) and len(out_dims) == 1 and _is_dim(out_dims[0]):
            return [out_dims[0]]
        if out_dims is None:
            return [None]
    leaves = [out_dims] if out_dims is None else tree_flatten(out_dims)[0]
    if not all(_is_dim(d) for d in leaves):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    found = _broadcast_to_and_flatten(out_dims, spec, is_leaf=_is_dim)
    if found is None:
        raise refused(tree_flatten(out_dims)[1])
    return found


def _in_chunks(
    func: Any, leaves: Any, dims: Any, spec: Any, size: int, out_dims: Any, randomness: str, kwargs: Any, chunk: int
) -> Any:
    """Runs ``chunk_size`` items at a time; with randomness "same" each chunk starts from the same generator state."""
    from shim_torch.random import get_rng_state, set_rng_state

    state = get_rng_state() if randomness == "same" else None
    parts: list[list[Any]] = []
    found_spec: Any = None
    for start in range(0, size, chunk):
        count = min(chunk, size - start)
        if state is not None:
            set_rng_state(state)
        given = [x if d is None else x.narrow(d, start, count) for x, d in zip(leaves, dims, strict=True)]
        found = _run(func, given, dims, spec, count, out_dims, randomness, kwargs)
        flat, found_spec = tree_flatten(found)
        parts.append(flat)
    wanted = _broadcast_to_and_flatten(out_dims, found_spec, is_leaf=_is_dim)
    joined = [
        column[0] if d is None else torch.cat(column, d)
        for column, d in zip(zip(*parts, strict=True), wanted or [], strict=True)
    ]
    return tree_unflatten(joined, found_spec)


naming.present(globals(), "torch.func")
