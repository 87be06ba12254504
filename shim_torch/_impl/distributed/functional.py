"""Collectives that give new tensors: what ``_functional_collectives`` and ``torch.ops._c10d_functional`` are made of."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import collectives
from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.groups import ProcessGroup
from shim_torch._impl.distributed.ranks import _world
from shim_torch._impl.distributed.reductions import ReduceOp

_OPS = {"sum": "SUM", "avg": "AVG", "product": "PRODUCT", "min": "MIN", "max": "MAX"}
_OPS |= {"band": "BAND", "bor": "BOR", "bxor": "BXOR"}


def group_of(group: Any) -> ProcessGroup:
    """A group by itself, its name, its ranks, a mesh of one dimension, or (mesh, dimension).

    Errors: RuntimeError for a name that is none and for a mesh of several dimensions, NotImplementedError for anything else.
    """
    world = found()
    if hasattr(group, "get_group"):
        return group.get_group()  # type: ignore[no-any-return]
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        return group[0].get_group(group[1])  # type: ignore[no-any-return]
    if group is None or isinstance(group, ProcessGroup):
        return found(group)
    for known, name in _world.pg_names.items():
        if group == name or (isinstance(group, (list, tuple)) and list(group) == list(_world.pg_group_ranks[known])):
            return known  # type: ignore[no-any-return]
    if world.size() == 1:
        return world
    if isinstance(group, str):
        raise RuntimeError(f"Could not resolve the process group registered under the name {group}")
    raise NotImplementedError(f"torch.distributed: a group given as {group!r} is not supported by shim-torch")


def reduction(name: str) -> Any:
    """Of "sum" and the like. Errors: ValueError."""
    if str(name).lower() not in _OPS:
        raise ValueError(f"Unknown reduce_op string: {name}")
    return getattr(ReduceOp, _OPS[str(name).lower()])


def _differentiable(tensor: Any) -> Any:
    """The functions of gradients.py where the tensor asks for them; None within them, and for other tensors."""
    from shim_torch import is_grad_enabled

    if not (tensor.requires_grad and is_grad_enabled()):
        return None
    from shim_torch._impl.distributed import gradients

    return gradients


def all_reduce(tensor: Any, op: str, group: ProcessGroup) -> Any:
    """The reduction over the group."""
    if (with_gradient := _differentiable(tensor)) is not None:
        return with_gradient.all_reduce(tensor, op, group)
    result = tensor.clone()
    collectives.all_reduce(result, reduction(op), group)
    return result


def all_gather(tensor: Any, group: ProcessGroup) -> Any:
    """The group's tensors, joined in the first dim."""
    if (with_gradient := _differentiable(tensor)) is not None:
        return with_gradient.all_gather(tensor, group)
    if group.size() == 1:
        return tensor.clone()
    rows, rest = (tensor.shape[0], tensor.shape[1:]) if tensor.dim() else (1, ())
    result = tensor.new_empty((rows * group.size(), *rest))
    collectives.all_gather_into_tensor(result, tensor, group)
    return result


def reduce_scatter(tensor: Any, op: str, group: ProcessGroup) -> Any:
    """This process's rows of the reduction."""
    if (with_gradient := _differentiable(tensor)) is not None:
        return with_gradient.reduce_scatter(tensor, op, group)
    if group.size() == 1:
        return tensor.clone()
    result = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
    collectives.reduce_scatter_tensor(result, tensor, reduction(op), group)
    return result


def all_to_all(tensor: Any, output_sizes: Any, input_sizes: Any, group: ProcessGroup) -> Any:
    """The rows that are for this process."""
    if (with_gradient := _differentiable(tensor)) is not None:
        return with_gradient.all_to_all(tensor, output_sizes, input_sizes, group)
    if group.size() == 1:
        return tensor.clone()
    rows = sum(output_sizes) if output_sizes else tensor.shape[0]
    result = tensor.new_empty((rows, *tensor.shape[1:]))
    collectives.all_to_all_single(result, tensor, output_sizes, input_sizes, group)
    return result


def broadcast(tensor: Any, src: int, group: ProcessGroup) -> Any:
    """One process's tensor."""
    result = tensor.clone()
    collectives.broadcast(result, src, group)
    return result
