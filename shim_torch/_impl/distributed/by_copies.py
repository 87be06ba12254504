"""Collectives of large CUDA tensors by copies between the GPUs of one host, which take no multiprocessor from kernels that run meanwhile.

NCCL's kernels hold some: a product beside them, whose blocks wait for those, loses about as much time as the collective takes.
SHIM_PEER_COPIES=0 in any rank leaves all to NCCL; 1, in all, takes smaller tensors too, and warns where there are no copies.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.distributed import collectives, on_devices
from shim_torch._impl.distributed.engine import Act
from shim_torch._impl.distributed.on_devices import DeviceWork
from shim_torch._impl.distributed.point_to_point import P2POp, _Works, batch_isend_irecv, irecv, isend
from shim_torch._impl.distributed.reductions import ReduceOp

Message = tuple[Any, int]  # a contiguous tensor, and the other end's rank in the group


def least() -> int:
    """Bytes for each other rank that go by copies: from where they were seen to gain, or with SHIM_PEER_COPIES=1 from where they might.

    A piece of 4 MiB takes the host about 40 us, and NCCL's call about 12 for all.
    """
    return 1 << 20 if os.environ.get("SHIM_PEER_COPIES") == "1" else 8 << 20


def copied(group: Any, sent: Sequence[Message], received: Sequence[Message]) -> DeviceWork | None:
    """The messages begun by copies; None where the ranks' memory cannot be opened, and while a graph is captured."""
    running = group._device_engine.exchange(
        [t for t, _ in sent], [to for _, to in sent], [t for t, _ in received], [source for _, source in received], group._limit
    )  # fmt: skip
    if running is None:
        _unavailable(group, sent[0][0])
        return None
    return DeviceWork([t for t, _ in received], running)


@functools.cache
def _say(device: Any) -> None:
    warnings.warn(
        f"SHIM_PEER_COPIES=1: there are no copies between the GPUs of these ranks ({device}), so NCCL does all",
        stacklevel=2,
    )


def _unavailable(group: Any, tensor: Any) -> None:
    """Notes that the ranks of the group have no copies, unless a capture is the reason; says so once where they are asked for."""
    from shim_torch import cuda

    if cuda.is_current_stream_capturing():
        return
    group._copies = False
    if os.environ.get("SHIM_PEER_COPIES") == "1":
        _say(tensor.device)


def possible(group: Any, tensor: Any) -> bool:
    """Whether a tensor's messages may go by copies; the first one tells."""
    return bool(group._copies) and on_devices.on_device(group, tensor)


def exchange(group: Any, sent: Sequence[Message], received: Sequence[Message]) -> Any:
    """Begins messages of which all ranks have their part, in the same order: by copies, or the group's engine. Gives a work."""
    if possible(group, sent[0][0]) and (work := copied(group, sent, received)) is not None:
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
        tensor.is_cuda
        and tensor.is_contiguous()
        and possible(group, tensor)
        and tensor.numel() * tensor.element_size() >= least
    )


def all_gather(out: Any, mine: Any, group: Any) -> Any:
    """``all_gather_into_tensor``, asynchronous; None where it is NCCL's."""
    if not _fits(group, mine, least()):
        return None
    rows = out.view(group.size(), -1)
    ranks = [group.rank(), *others(group)]  # itself too
    return copied(group, [(mine, to) for to in ranks], [(rows[r], r) for r in (ranks[0], *ranks[:0:-1])])


def _reduced(group: Any, name: str, act: int, average: bool, inputs: Any, outputs: Any) -> DeviceWork | None:
    op = ReduceOp.AVG if average else ReduceOp.SUM
    running = group._device_engine.start(name, act, int(op), None, inputs, outputs, -1, None, None, group._limit, True)
    if running is None:
        _unavailable(group, outputs[0])
        return None
    return DeviceWork(outputs, running)


def reduce_scatter(outs: Sequence[Any], sent: Sequence[Any], group: Any, average: bool = True) -> Any:
    """``reduce_scatter_tensor`` of each of ``sent``, floating-point numbers, asynchronous; None where it is NCCL's.

    Small ones go with large ones: a kernel that waits for the other ranks would take a multiprocessor from a product meanwhile.
    """
    n = group.size()
    if not all(_fits(group, t, 1) for t in sent) or not any(_fits(group, t, n * least()) for t in sent):
        return None
    return _reduced(group, "reduce_scatter by copies", Act.REDUCE_SCATTER, average, list(sent), list(outs))


def all_reduce(tensors: Sequence[Any], group: Any, average: bool) -> Any:
    """``all_reduce`` of floating-point tensors where they are, asynchronous, with SUM or AVG; None where it is NCCL's.

    Each rank adds up its part of every tensor, and sends it to the others. Small ones go with large ones, as in ``reduce_scatter``;
    those of which ranks cannot have equal parts are NCCL's.
    """
    n = group.size()
    if not any(_fits(group, t, n * least()) and t.numel() % n == 0 for t in tensors):
        return None
    taken = [_fits(group, t, 1) and t.numel() % n == 0 for t in tensors]
    whole = [t.detach() for t, yes in zip(tensors, taken, strict=True) if yes]
    works: list[Any] = [_reduced(group, "all_reduce by copies", Act.ALL_REDUCE, average, [], whole)]
    if works[0] is None:
        return None
    rest = [t for t, yes in zip(tensors, taken, strict=True) if not yes]
    if rest:
        op = ReduceOp.AVG if average else ReduceOp.SUM
        works.append(collectives.all_reduce_coalesced(rest, op, group=group, async_op=True))
    return _Works(works, list(tensors))
