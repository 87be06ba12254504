"""``torch.distributed.nn.functional``: collectives with gradients."""

from __future__ import annotations

from typing import Any

from shim_torch import distributed, empty_like, zeros_like
from shim_torch.autograd import Function

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip
ReduceOp = distributed.ReduceOp


def _is(rank: int) -> bool:
    """Whether this process has that rank of the default group."""
    return distributed.get_rank() == rank


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
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if _is(ctx.src) else zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        distributed.reduce(result, dst, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [zeros_like(tensor) for _ in range(distributed.get_world_size(group))]
        distributed.gather(tensor.contiguous(), parts if _is(dst) else None, dst=dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = zeros_like(tensors[0])
        parts = [t.contiguous() for t in tensors] if _is(src) else None
        distributed.scatter(result, parts, src=src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Any, *tensors: Any) -> Any:
        ctx.group = group
        distributed.reduce_scatter(output, [t.contiguous() for t in tensors], op=op, group=group)
        ctx.mark_dirty(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        parts = [empty_like(grad) for _ in range(distributed.get_world_size(ctx.group))]
        distributed.all_gather(parts, grad.contiguous(), group=ctx.group)
        return None, None, None, *parts


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


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, outputs: Any, *tensors: Any) -> Any:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        parts = [t.new_empty(shape) for t, shape in zip(tensors, shapes, strict=True)] if outputs is None else outputs
        distributed.all_to_all(parts, [t.contiguous() for t in tensors], group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return None, None, None, *_AllToAll.apply(ctx.group, ctx.shapes, None, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Any, output_sizes: Any, input_sizes: Any, tensor: Any) -> Any:
        ctx.group, ctx.sizes, ctx.shape = group, (output_sizes, input_sizes), tensor.shape
        distributed.all_to_all_single(output, tensor.contiguous(), output_sizes, input_sizes, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, ...]:
        received, sent = ctx.sizes
        back = _AllToAllSingle.apply(ctx.group, grad.new_empty(ctx.shape), sent, received, grad)
        return None, None, None, None, back


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction over all processes, a new tensor; its gradient is reduced likewise."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of process ``src``, a new one; the gradients of all are summed there."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction at process ``dst``, whose gradient all get. What the other processes are given is not specified."""
    return _Reduce.apply(dst, op, group, tensor)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes at process ``dst``, zeros at the others; each gets its gradient from there."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """This process's of the tensors of process ``src``; the gradients go there."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """This process's part of the reduction, written to ``output``; each tensor gets the gradient of its process."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes; each gets the sum of its gradients."""
    return _AllGather.apply(group, tensor)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors that are for this process, written to the first list; gradients go back."""
    return _AllToAll.apply(group, None, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    """The rows that are for this process, written to ``output``; gradients go back."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
