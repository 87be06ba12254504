"""Linear layers of tensor parallelism between whole copies of their input and output: what is summed travels during other products.

A column parallel layer's gradient of its input is summed while that of the weight is computed. A row parallel layer's product is
taken in pieces, by rows: each process sums its own ones, and gathers them at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.distributed import by_copies, collectives, overlapped_linear
from shim_torch._impl.distributed.overlapped_choice import chosen, local_parameters, plain_linear
from shim_torch._impl.distributed.overlapped_linear import Rows, flat, scatter
from shim_torch.autograd import Function


def _sum_begun(x: Any, group: Any) -> Any:
    work = by_copies.all_reduce([x], group, average=False)
    return collectives.all_reduce(x, group=group, async_op=True) if work is None else work


class _Column(Function):
    """``linear`` with some of the weight's rows, of an input that all processes have."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, group: Any) -> Any:
        import shim_torch as torch

        rows = flat(x)
        ctx.group, ctx.shape = group, x.shape
        ctx.save_for_backward(rows if weight.requires_grad else None, weight)
        return torch.nn.functional.linear(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        rows, weight = ctx.saved_tensors
        wanted, work, of_input = ctx.needs_input_grad, None, None
        grad = grad.contiguous()
        if wanted[0]:
            of_input = grad @ weight
            work = _sum_begun(of_input, ctx.group)
        of_weight = grad.t() @ rows if wanted[1] else None
        of_bias = grad.sum(0) if wanted[2] else None
        if work is not None:
            work.wait()
        return None if of_input is None else of_input.view(ctx.shape), of_weight, of_bias, None


class _Row(Function):
    """All rows of ``linear``, of which each process has some of the inputs and of the weight's columns."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, rows: Rows) -> Any:
        mine = flat(x)
        ctx.shape = x.shape
        ctx.save_for_backward(mine if weight.requires_grad else None, weight)
        part = scatter(rows, mine, weight.t(), bias)
        whole = part.new_empty((rows.n * part.shape[0], part.shape[1]))
        work = by_copies.all_gather(whole, part, rows.group)
        if work is None:
            work = collectives.all_gather_into_tensor(whole, part, group=rows.group, async_op=True)
        work.wait()
        return whole

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        rows, weight = ctx.saved_tensors
        wanted, grad = ctx.needs_input_grad, grad.contiguous()
        return (
            (grad @ weight).view(ctx.shape) if wanted[0] else None,
            grad.t() @ rows if wanted[1] else None,
            grad.sum(0) if wanted[2] else None,
            None,
        )


def column(module: Any, x: Any, mesh: Any) -> Any:
    """The layer's output, split in the last dim."""
    from shim_torch.distributed.tensor import DTensor, Shard

    weight, bias = local_parameters(module)
    out = _Column.apply(x, weight, bias, mesh.get_group(0)).view(*x.shape[:-1], weight.shape[0])
    return DTensor.from_local(out, mesh, [Shard(x.dim() - 1)], run_check=False)


def row_rows(module: Any, x: Any, mesh: Any) -> Rows | None:
    """Of an output that all processes have: how its rows are divided meanwhile. None where the plain form is taken."""
    from shim_torch.distributed.tensor import Shard

    count, n = math.prod(x.shape[:-1]), mesh.size()
    if x.placements != (Shard(x.dim() - 1),) or count % n or not plain_linear(module, x, 0, mesh, uneven=True):
        return None
    return Rows(mesh.get_group(0), 1, count // n)


def row(module: Any, x: Any, rows: Rows, mesh: Any) -> Any:
    """The layer's output, a whole copy in each process."""
    from shim_torch.distributed.tensor import DTensor, Replicate

    weight, bias = local_parameters(module)
    out = _Row.apply(x.to_local(), weight, bias, rows)
    return DTensor.from_local(out.view(*x.shape[:-1], weight.shape[0]), mesh, [Replicate()], run_check=False)


def column_pieces(module: Any, x: Any, layout: Any, mesh: Any) -> Callable[[], Any] | None:
    """What gives the output of a column parallel layer in pieces; None where the plain form is taken. ``layout``: of no DTensor."""
    from shim_torch.distributed.tensor import DTensor, Replicate

    group = mesh.get_group(0)
    if not isinstance(x, DTensor):
        if not chosen(group):
            return None
        whole = layout == Replicate() and plain_linear(module, x, 0, mesh, uneven=True)
        return (lambda: column(module, x, mesh)) if whole else None
    mine = x._local_tensor
    if not chosen(group, mine, mine.numel() * mine.element_size()):
        return None
    rows = overlapped_linear.column_rows(module, x, mesh)
    return None if rows is None else lambda: overlapped_linear.column(module, x, rows, mesh)


def row_pieces(module: Any, x: Any, to: Any, mesh: Any) -> Callable[[], Any] | None:
    """The same of a row parallel layer. ``to``: how its output is placed."""
    from shim_torch.distributed.tensor import DTensor, Replicate

    group = mesh.get_group(0)
    if not isinstance(x, DTensor):
        return None
    if to == Replicate():
        if not chosen(group):
            return None
        whole = row_rows(module, x, mesh)
        return None if whole is None else lambda: row(module, x, whole, mesh)
    mine = x._local_tensor
    if not chosen(
        group, mine, math.prod(mine.shape[:-1]) // mesh.size() * module.weight.shape[0] * mine.element_size()
    ):
        return None
    rows = overlapped_linear.row_rows(module, x, to, mesh)
    return None if rows is None else lambda: overlapped_linear.row(module, x, to, rows, mesh)
