"""Collectives that give new tensors, for tensors with gradients: backward is the collective that takes them back."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import functional
from shim_torch.autograd import Function


def _only_sums(op: str, name: str) -> None:
    if str(op).lower() != "sum":
        raise RuntimeError(f"{name} backward only supports 'sum' reduction, got '{op}'")


class _AllReduce(Function):
    """The gradient is the sum of all processes' gradients."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, op: str, group: Any) -> Any:
        ctx.op, ctx.group = op, group
        return functional.all_reduce(tensor, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _only_sums(ctx.op, "all_reduce")
        return functional.all_reduce(grad, "sum", ctx.group), None, None


class _AllGather(Function):
    """Each process gets the sum of the gradients of its part."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, group: Any) -> Any:
        ctx.group = group
        return functional.all_gather(tensor, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return functional.reduce_scatter(grad.contiguous(), "sum", ctx.group), None


class _ReduceScatter(Function):
    """The gradients of all parts, joined."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, op: str, group: Any) -> Any:
        ctx.op, ctx.group = op, group
        return functional.reduce_scatter(tensor, op, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _only_sums(ctx.op, "reduce_scatter_tensor")
        return functional.all_gather(grad.contiguous(), ctx.group), None, None


class _AllToAll(Function):
    """The gradients go back to where the rows came from."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, output_sizes: Any, input_sizes: Any, group: Any) -> Any:
        ctx.sizes, ctx.group = (output_sizes, input_sizes), group
        return functional.all_to_all(tensor, output_sizes, input_sizes, group)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        received, sent = ctx.sizes
        return functional.all_to_all(grad.contiguous(), sent, received, ctx.group), None, None, None


all_reduce, all_gather = _AllReduce.apply, _AllGather.apply
reduce_scatter, all_to_all = _ReduceScatter.apply, _AllToAll.apply
