"""Sends and receives between two processes, and collectives issued together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.checks import found, one_tensor, outside
from shim_torch._impl.distributed.engine import Act, start
from shim_torch._impl.distributed.objects import _bytes, _device, _numbers, _packed, _unpacked
from shim_torch._impl.distributed.on_devices import DeviceWork, on_device
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.surface import naming

_MOST_TAG = 2**20 - 1  # what is above belongs to the library itself


def _peer(group: Any, rank: Any, group_rank: Any, kind: str) -> int:
    """The other process's rank in the group. Errors: ValueError for this process, and for one that is not in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if group_rank is None:
        from shim_torch._impl.distributed.ranks import get_group_rank

        group_rank = get_group_rank(group, rank)
    if group_rank == group.rank():
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Invalid {kind} rank: {group_rank} is no rank of a group of {group.size()} processes")
    return int(group_rank)


def _check_tag(tag: int) -> int:
    if not 0 <= tag <= _MOST_TAG:
        raise ValueError(f"torch.distributed: a tag is between 0 and {_MOST_TAG}, got {tag}")
    return tag


def isend(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> Work | None:
    """Begins to send a contiguous tensor; it must not change until the work is done."""
    one_tensor(tensor, "tensor")
    if outside(group, "isend"):
        return None
    group = found(group)
    peer = _peer(group, dst, group_dst, "destination")
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    return start(group, "send", Act.SEND, input=tensor, root=peer, tag=_check_tag(tag), results=[tensor], async_op=True)


def irecv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> Work | None:
    """Begins to receive into a tensor, from any process where none is named."""
    one_tensor(tensor, "tensor")
    if outside(group, "irecv"):
        return None
    group = found(group)
    peer = -1 if src is None and group_src is None else _peer(group, src, group_src, "source")
    if not tensor.is_contiguous():
        raise RuntimeError("output tensor has to be contiguous")
    if peer < 0 and on_device(group, tensor):
        raise ValueError("torch.distributed.irecv: NCCL receives from a named process only: pass src")
    if group.size() == 1:
        raise ValueError("torch.distributed.irecv: there is no other process in the group")
    return start(
        group, "recv", Act.RECEIVE, output=tensor, root=peer, tag=_check_tag(tag), results=[tensor], async_op=True
    )  # fmt: skip


def send(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> None:
    """Sends a contiguous tensor."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> int:
    """Receives into a tensor; the rank in the whole that it came from, -1 outside of the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    from shim_torch._impl.distributed.ranks import get_global_rank

    source = group_src if group_src is not None else src if isinstance(work, DeviceWork) else None
    if group_src is None and source is not None:
        return int(source)
    return int(get_global_rank(found(group), work.source_rank() if source is None else source))


def send_object_list(
    object_list: list[Any], dst: Any = None, group: Any = None, device: Any = None, group_dst: Any = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Sends objects, pickled."""
    import shim_torch as torch

    if outside(group, "send_object_list"):
        return
    _peer(found(group), dst, group_dst, "destination")
    datas = [_packed(value) for value in object_list]
    send(
        _numbers([d.numel() for d in datas], found(group)),
        dst,
        group,
        group_dst=group_dst,
    )
    send(torch.cat(datas).to(_device(found(group))), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Receives as many objects as the list is long; the rank that they came from."""
    if outside(group, "recv_object_list"):
        return -1
    counts = _numbers([0] * len(object_list), found(group))
    rank = recv(counts, src, group, group_src=group_src)
    sizes = counts.tolist()
    data = _bytes(sum(sizes), found(group))
    recv(data, rank, group)
    for i, part in enumerate(data.cpu().split(sizes)):
        object_list[i] = _unpacked(part, part.numel())
    return rank


class P2POp:
    """A message for :func:`batch_isend_irecv`. Errors: ValueError for another ``op`` than isend and irecv."""

    def __init__(
        self, op: Any, tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        from shim_torch._impl.distributed.ranks import get_global_rank, get_group_rank

        self.op, self.tensor, self.group, self.tag = op, one_tensor(tensor, "tensor"), found(group), tag
        if peer is not None and group_peer is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if peer is None and group_peer is None:
            raise ValueError("Must specify global_rank or group_rank")
        self.group_peer: int = group_peer if group_peer is not None else get_group_rank(self.group, peer or 0)
        self.peer = get_global_rank(self.group, self.group_peer) if peer is None else peer

    def __repr__(self) -> str:
        here, there = self.group.rank(), self.group_peer
        source, target = (here, there) if self.op is isend else (there, here)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={target},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Begins all messages. Errors: ValueError for what is no list of them, or of several groups."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any(op.group is not p2p_op_list[0].group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    to_self = [op for op in p2p_op_list if op.group_peer == op.group.rank()]
    sent, received = ([op for op in to_self if op.op is kind] for kind in (isend, irecv))
    if len(sent) != len(received):
        raise ValueError("torch.distributed.batch_isend_irecv: a message of this process to itself has no other end")
    for source, target in zip(sent, received, strict=True):
        target.tensor.detach().copy_(source.tensor.detach())
    works: list[Work] = []
    if p2p_op_list and on_device(p2p_op_list[0].group, p2p_op_list[0].tensor):
        return _batch_on_device([op for op in p2p_op_list if op not in to_self])
    for op in p2p_op_list:
        if op in to_self:
            works.append(Work([op.tensor]))
        else:
            works.append(op.op(op.tensor, group=op.group, tag=op.tag, **_end(op)))
    return works


def _batch_on_device(ops: list[P2POp]) -> list[Work]:
    """All messages as one call of NCCL, on the group's communicator."""
    if not ops:
        return []
    group = ops[0].group
    group._device_engine.begin_coalescing()
    try:
        for op in ops:
            op.op(op.tensor, group=group, tag=op.tag, **_end(op))
    finally:
        work = on_devices.end_coalescing(group, True, [op.tensor for op in ops])
    return [work] if work is not None else []


def _end(op: P2POp) -> dict[str, Any]:
    return {"group_dst" if op.op is isend else "group_src": op.group_peer}


class _Works(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Any], tensors: Any) -> None:
        super().__init__(tensors)
        self._works = [work for work in works if work is not None]

    def wait(self, timeout: Any = None) -> bool:
        """True, once all are done. Errors: those of the first that failed."""
        for work in self._works:
            work.wait(*([timeout] if timeout else []))
        return True

    def is_completed(self) -> bool:
        """Whether all ended."""
        return all(work.is_completed() for work in self._works)

    def exception(self) -> Any:
        """What the first that failed raises."""
        return next((e for e in (work.exception() for work in self._works) if e is not None), None)


class _CoalescingManager:
    """The collectives of one ``with _coalescing_manager()``."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        self.works.extend([work] if work is not None else [])

    def wait(self) -> None:
        """Waits for all of them."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Collectives of CUDA tensors are issued together at the end. MPI has nothing to gain from that: it runs each when called."""
    group = found(group)
    manager = _CoalescingManager()
    if group._device_engine is None or (device is not None and str(device).startswith("cpu")):
        yield manager
        return
    group._device_engine.begin_coalescing()
    try:
        yield manager
    finally:
        manager.append(on_devices.end_coalescing(group, async_ops))


naming.present(globals(), "torch.distributed.distributed_c10d")
