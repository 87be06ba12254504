"""Linear layers of tensor parallelism whose collective overlaps with parts of the product: asynchronous tensor parallelism.

A column parallel layer whose input is split by rows multiplies its own rows while those of the others arrive. A row parallel
layer whose output is split by rows multiplies the others' rows first, and sends the products while it goes on. Backward mirrors it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shim_torch._impl.distributed import by_copies
from shim_torch._impl.distributed.overlapped_choice import local_parameters, plain_linear
from shim_torch.autograd import Function

_FULL = 1 << 24  # numbers of a product: two large GPUs are full with half of them


@dataclasses.dataclass(frozen=True)
class Rows:
    """Whose rows of a matrix are whose: ``part`` rows of each process in turn, ``outer`` times."""

    group: Any
    outer: int
    part: int

    @property
    def n(self) -> int:
        """Processes."""
        return self.group.size()  # type: ignore[no-any-return]

    @property
    def at(self) -> int:
        """This one."""
        return self.group.rank()  # type: ignore[no-any-return]

    def of(self, whole: Any, rank: int) -> list[Any]:
        """A process's rows of the whole matrix: contiguous blocks."""
        step = self.n * self.part
        return [whole.narrow(0, o * step + rank * self.part, self.part) for o in range(self.outer)]

    def blocks(self, mine: Any) -> list[Any]:
        """The same of a matrix that has one process's rows."""
        return [mine.narrow(0, o * self.part, self.part) for o in range(self.outer)]

    def others(self) -> Iterator[tuple[int, int]]:
        """(whom to send to, whom to receive from), one after the other."""
        for step in range(1, self.n):
            yield (self.at + step) % self.n, (self.at - step) % self.n

    def exchange(self, to: int, sent: list[Any], source: int, received: list[Any]) -> Any:
        """Begins to send blocks to one process and to receive some from another."""
        return by_copies.exchange(self.group, [(b, to) for b in sent], [(b, source) for b in received])


def _rows_of(shape: Sequence[int], dim: int, group: Any) -> Rows:
    """Of a part of that shape that is split in ``dim``, which is not the last."""
    return Rows(group, math.prod(shape[:dim]), math.prod(shape[dim:-1]))


def flat(x: Any) -> Any:
    """As a matrix."""
    return x.reshape(-1, x.shape[-1])


def _gather(rows: Rows, mine: Any, use: Callable[[Any, int], None]) -> Any:
    """The whole matrix; ``use(whole, rank)`` gets each process's rows as they arrive, this one's first."""
    mine = mine.contiguous()
    whole = mine.new_empty((rows.n * mine.shape[0], mine.shape[1]))
    works = [
        (source, rows.exchange(to, rows.blocks(mine), source, rows.of(whole, source))) for to, source in rows.others()
    ]
    for to, block in zip(rows.of(whole, rows.at), rows.blocks(mine), strict=True):
        to.copy_(block)
    use(whole, rows.at)
    for source, work in works:
        work.wait()
        use(whole, source)
    return whole


def _parts(rows: Rows, b: Any) -> int:
    """How many parts a product to be sent is computed in: two where computing one takes longer than sending it, else one."""
    split = rows.outer == 1 and rows.part % 2 == 0 or rows.outer % 2 == 0
    return 2 if split and rows.outer * rows.part * b.shape[1] >= _FULL else 1


def _part_of(rows: Rows, blocks: list[Any], part: int, parts: int) -> list[Any]:
    """A process's rows, cut: its one block by rows, or so many of its blocks."""
    if rows.outer == 1:
        size = rows.part // parts
        return [blocks[0].narrow(0, part * size, size)]
    return blocks[part * rows.outer // parts : (part + 1) * rows.outer // parts]


def _travelling(rows: Rows, a: Any, b: Any, parts: int) -> list[tuple[list[Any], Any]]:
    """Multiplies the others' rows and sends them on, each part at once: of each process that sends, the waits and what arrives."""
    size, found = rows.outer * rows.part // parts, []
    for to, source in rows.others():
        got, works = a.new_empty((parts * size, b.shape[1])), []
        for part in range(parts):
            made = a.new_empty((size, b.shape[1]))
            outs = made.chunk(rows.outer // parts) if rows.outer > 1 else [made]
            for block, out in zip(_part_of(rows, rows.of(a, to), part, parts), outs, strict=True):
                _multiply(block, b, None, out)
            works.append(rows.exchange(to, [made], source, [got.narrow(0, part * size, size)]))
        found.append((works, got))
    return found


def scatter(rows: Rows, a: Any, b: Any, bias: Any, meanwhile: Callable[[], None] | None = None) -> Any:
    """This process's rows of the sum of all processes' ``a @ b``, and the bias. ``meanwhile`` gives the device more to do.

    The others' rows come first. In two parts one travels during the next product, the second one during the first product of its own
    rows, and each is there when the rows that it is added to come: the product does that.
    """
    parts = 1 if meanwhile is not None or bias is not None else _parts(rows, b)
    arriving = _travelling(rows, a, b, parts)
    if meanwhile is not None:
        meanwhile()
    own = rows.of(a, rows.at)
    if arriving and bias is None and (meanwhile is not None or parts > 1):
        works, mine = arriving.pop(0)
        for part, work in enumerate(works):
            work.wait()
            outs = _part_of(rows, rows.blocks(mine), part, parts)
            for block, out in zip(_part_of(rows, own, part, parts), outs, strict=True):
                out.addmm_(block, b)
    else:
        mine = a.new_empty((rows.outer * rows.part, b.shape[1]))
        for block, out in zip(own, rows.blocks(mine), strict=True):
            _multiply(block, b, bias, out)
    for works, got in arriving:
        for work in works:
            work.wait()
        mine.add_(got)
    return mine


def _multiply(a: Any, b: Any, bias: Any, out: Any) -> None:
    import shim_torch as torch

    if bias is None:
        torch.mm(a, b, out=out)
    else:
        torch.addmm(bias, a, b, out=out)


class _Column(Function):
    """``linear`` of all rows, of which each process has some, with some of the weight's rows."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, rows: Rows) -> Any:
        mine, transposed = flat(x), weight.t()
        out = x.new_empty((rows.n * mine.shape[0], weight.shape[0]))

        def use(whole: Any, rank: int) -> None:
            for block, to in zip(rows.of(whole, rank), rows.of(out, rank), strict=True):
                _multiply(block, transposed, bias, to)

        whole = _gather(rows, mine, use)
        ctx.rows, ctx.shape = rows, x.shape
        ctx.save_for_backward(whole if weight.requires_grad else None, weight)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        whole, weight = ctx.saved_tensors
        grad = grad.contiguous()
        found: list[Any] = [None, None, None]

        def of_parameters() -> None:
            if ctx.needs_input_grad[1]:
                found[1] = grad.t() @ whole
            if ctx.needs_input_grad[2]:
                found[2] = grad.sum(0)

        if ctx.needs_input_grad[0]:
            later = of_parameters if ctx.needs_input_grad[1] else None
            found[0] = scatter(ctx.rows, grad, weight, None, later).view(ctx.shape)
        if found[1] is None and found[2] is None:
            of_parameters()
        return (*found, None)


class _Row(Function):
    """This process's rows of ``linear``, of which each process has some of the inputs and of the weight's columns."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, rows: Rows) -> Any:
        mine = flat(x)
        ctx.rows, ctx.shape = rows, x.shape
        ctx.save_for_backward(mine if weight.requires_grad else None, weight)
        return scatter(rows, mine, weight.t(), bias)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        mine, weight = ctx.saved_tensors
        rows, wanted = ctx.rows, ctx.needs_input_grad
        of_input = grad.new_empty((rows.n * grad.shape[0], weight.shape[1])) if wanted[0] else None

        def use(whole: Any, rank: int) -> None:
            if of_input is not None:
                for block, to in zip(rows.of(whole, rank), rows.of(of_input, rank), strict=True):
                    _multiply(block, weight, None, to)

        whole = _gather(rows, grad, use)
        return (
            None if of_input is None else of_input.view(ctx.shape),
            whole.t() @ mine if wanted[1] else None,
            whole.sum(0) if wanted[2] else None,
            None,
        )


def column_rows(module: Any, x: Any, mesh: Any) -> Rows | None:
    """Of an input that is split in a dim before the last one: how its rows lie. None where the plain form is taken."""
    from shim_torch.distributed.tensor import Shard

    split = x.placements[0]
    if type(split) is not Shard or not plain_linear(module, x, split.dim, mesh):
        return None
    return _rows_of(x._local_tensor.shape, split.dim, mesh.get_group(0))


def column(module: Any, x: Any, rows: Rows, mesh: Any) -> Any:
    """The layer's output, split in the last dim."""
    from shim_torch.distributed.tensor import DTensor, Shard

    weight, bias = local_parameters(module)
    out = _Column.apply(x.to_local(), weight, bias, rows)
    out = out.view(*x.shape[:-1], weight.shape[0])
    return DTensor.from_local(out, mesh, [Shard(x.dim() - 1)], run_check=False)


def row_rows(module: Any, x: Any, to: Any, mesh: Any) -> Rows | None:
    """Of an output that is to be split in a dim before the last one."""
    from shim_torch.distributed.tensor import Shard

    if type(to) is not Shard or x.placements != (Shard(x.dim() - 1),):
        return None
    dim = to.dim + x.dim() if to.dim < 0 else to.dim
    if not plain_linear(module, x, dim, mesh):
        return None
    shape = list(x.shape)
    shape[dim] //= mesh.size()
    return _rows_of(shape, dim, mesh.get_group(0))


def row(module: Any, x: Any, to: Any, rows: Rows, mesh: Any) -> Any:
    """The layer's output, split as ``to`` says."""
    from shim_torch.distributed.tensor import DTensor

    shape = [*x.shape[:-1], module.weight.shape[0]]
    shape[to.dim] //= rows.n
    out = _Row.apply(x.to_local(), *local_parameters(module), rows)
    return DTensor.from_local(out.view(shape), mesh, [to], run_check=False)
