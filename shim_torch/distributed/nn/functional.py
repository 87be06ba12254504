"""``torch.distributed.nn.functional``: collectives with gradients."""

from __future__ import annotations

from typing import Any

from shim_torch import distributed
from shim_torch.autograd import Function

__all__ = ["all_gather", "all_reduce", "broadcast"]
ReduceOp = distributed.ReduceOp


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        distributed.all_reduce(result, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        distributed.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        total = _AllReduce.apply(ReduceOp.SUM, ctx.group, grad)
        return None, None, total if distributed.get_rank(ctx.group) == ctx.src else total * 0


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        parts = [tensor.new_empty(tensor.shape) for _ in range(distributed.get_world_size(group))]
        distributed.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        mine = [_AllReduce.apply(ReduceOp.SUM, ctx.group, g) for g in grads]
        return None, mine[distributed.get_rank(ctx.group)]


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction over all processes, a new tensor; its gradient is reduced likewise."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of process ``src``, a new one; the gradients of all are summed there."""
    return _Broadcast.apply(src, group, tensor)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes; each gets the sum of its gradients."""
    return _AllGather.apply(group, tensor)
