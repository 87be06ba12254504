"""Collectives of large CUDA tensors by copies between the GPUs of one host, which take no multiprocessor from kernels that run meanwhile.

NCCL's kernels hold some: a product beside them, whose blocks wait for those, loses about as much time as the collective takes.
SHIM_PEER_COPIES=1 asks for them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.distributed import collectives, on_devices
from shim_torch._impl.distributed.on_devices import DeviceWork, on_stream
from shim_torch._impl.distributed.point_to_point import P2POp, _Works, batch_isend_irecv, irecv, isend
from shim_torch._impl.distributed.reductions import ReduceOp

Message = tuple[Any, int]  # a contiguous tensor, and the other end's rank in the group

_LEAST = 1 << 20  # bytes for each other rank, below which NCCL's own collectives are quicker


def wanted() -> bool:
    """Whether SHIM_PEER_COPIES=1 asks for copies."""
    return os.environ.get("SHIM_PEER_COPIES") == "1"


def copied(group: Any, sent: Sequence[Message], received: Sequence[Message]) -> DeviceWork | None:
    """The messages begun by copies; None where that is not asked for, or the ranks' memory cannot be opened, and while a graph is captured."""
    if not wanted():
        return None
    running = group._device_engine.exchange(
        [t for t, _ in sent], [to for _, to in sent], [t for t, _ in received], [source for _, source in received], group._limit
    )  # fmt: skip
    return None if running is None else DeviceWork([t for t, _ in received], running)


def exchange(group: Any, sent: Sequence[Message], received: Sequence[Message]) -> Any:
    """Begins messages of which all ranks have their part, in the same order: by copies, or the group's engine. Gives a work."""
    if on_devices.on_device(group, sent[0][0]) and (work := copied(group, sent, received)) is not None:
        return work
    ops = [P2POp(isend, t, group=group, group_peer=to) for t, to in sent]
    ops += [P2POp(irecv, t, group=group, group_peer=source) for t, source in received]
    return _Works(batch_isend_irecv(ops), [t for t, _ in received])


def others(group: Any) -> list[int]:
    """The other ranks, from the next one on: no two ranks begin with the same."""
    n, at = group.size(), group.rank()
    return [(at + step) % n for step in range(1, n)]


def _fits(group: Any, tensor: Any, least: int) -> bool:
    return (
        wanted()
        and tensor.is_cuda
        and tensor.is_contiguous()
        and on_devices.on_device(group, tensor)
        and tensor.numel() * tensor.element_size() >= least
    )


def mean(mine: Any, others: Sequence[Any], into: Any = None) -> Any:
    """Of all ranks' values: a new tensor, or ``into``."""
    import shim_torch as torch

    if into is not None and into is not mine:
        mine = into.copy_(mine)
    if len(others) == 1 and mine.dtype != torch.float16:
        # One kernel. Of an infinity it may make NaN, which loss scaling of float16 tells apart.
        return torch.lerp(mine, others[0], 0.5) if into is None else mine.lerp_(others[0], 0.5)
    share = 1 / (len(others) + 1)
    made = mine * share if into is None else mine.mul_(share)  # a sum in float16 may be infinite
    for other in others:
        made.add_(other, alpha=share)
    return made


def all_gather(out: Any, mine: Any, group: Any) -> Any:
    """``all_gather_into_tensor``, asynchronous; None where it is NCCL's."""
    if not _fits(group, mine, _LEAST):
        return None
    rows = out.view(group.size(), -1)
    rows[group.rank()].copy_(mine.view(-1))  # first: what waits for the messages waits for it too
    ranks = others(group)
    return copied(group, [(mine, to) for to in ranks], [(rows[r], r) for r in reversed(ranks)])


def scattered(group: Any, rows: Sequence[Any]) -> tuple[DeviceWork | None, list[list[Any]]]:
    """Begins to send each rank its row of each matrix; also what comes of the others': for each matrix, their rows."""
    ranks = others(group)
    got = [[r.new_empty(r.shape[1]) for _ in ranks] for r in rows]
    sent = [(r[to], to) for r in rows for to in ranks]
    return copied(group, sent, [pair for g in got for pair in zip(g, reversed(ranks), strict=True)]), got


class _Scattered:
    """The mean of the ranks' rows on its way; ``wait`` puts it in ``out``."""

    def __init__(self, work: DeviceWork, out: Any, mine: Any, others: list[Any]) -> None:
        self._work, self._out, self._mine, self._others = work, out, mine, others

    def wait(self) -> None:
        """On the current stream."""
        self._work.wait()
        mean(self._mine, self._others, self._out)


def reduce_scatter_mean(out: Any, sent: Any, group: Any) -> Any:
    """``reduce_scatter_tensor`` with AVG of floating-point numbers, asynchronous; None where it is NCCL's."""
    if not _fits(group, sent, group.size() * _LEAST):
        return None
    rows = sent.view(group.size(), -1)
    work, (got,) = scattered(group, [rows])
    return None if work is None else _Scattered(work, out.view(-1), rows[group.rank()], got)


class _Reduced:
    """Sums of the ranks' tensors on their way, in their place."""

    def __init__(self, works: list[Any], kept: Any) -> None:
        self._works, self._kept = works, kept

    def wait(self) -> None:
        """The current stream comes after them."""
        for work in self._works:
            work.wait()


_sides: dict[Any, Any] = {}  # by device: a stream for the additions


def all_reduce(tensors: Sequence[Any], group: Any, average: bool) -> Any:
    """``all_reduce`` of floating-point tensors where they are, asynchronous, with SUM or AVG; None where it is NCCL's.

    Each rank adds up its part of every tensor, and sends it to the others. Small ones among them are NCCL's.
    """
    import shim_torch as torch

    n, at = group.size(), group.rank()
    large = [_fits(group, t, n * _LEAST) and t.numel() % n == 0 for t in tensors]
    rows = [t.detach().view(n, -1) for t, yes in zip(tensors, large, strict=True) if yes]
    if not rows:
        return None
    work, got = scattered(group, rows)
    if work is None:
        return None
    device = tensors[0].device
    side = _sides.get(device)
    if side is None:
        side = _sides[device] = torch.cuda.Stream(device, priority=-1)  # before the products that wait too
    with on_stream(side):
        work.wait()
        for r, g in zip(rows, got, strict=True):
            mine = r[at]
            if average:
                mean(mine, g, mine)
            else:
                for other in g:
                    mine.add_(other)
        ranks = others(group)
        sent = [(r[at], to) for r in rows for to in ranks]
        works: list[Any] = [copied(group, sent, [(r[source], source) for r in rows for source in reversed(ranks)])]
    small = [t for t, yes in zip(tensors, large, strict=True) if not yes]
    if small:
        op = ReduceOp.AVG if average else ReduceOp.SUM
        works.append(collectives.all_reduce_coalesced(small, op, group=group, async_op=True))
    return _Reduced(works, (rows, got, work))
