"""Sends and receives between two processes, and collectives issued together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.collectives.checks import found, one_tensor, unsupported
from shim_torch._impl.collectives.groups import Work
from shim_torch._impl.surface import naming


def _transfer(function: str, kind: str, role: str) -> Any:
    def transfer(tensor: Any = None, peer: Any = None, group: Any = None, *args: Any, **kwargs: Any) -> Any:
        found(group)
        given = [kwargs.get(k) for k in ("src", "dst", "group_src", "group_dst")]
        if 0 in [peer, *[g for g in given if g is not None]]:
            raise ValueError(
                f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process."
            )
        raise unsupported(function, "there is no other process")

    transfer.__name__ = transfer.__qualname__ = function
    transfer.__doc__ = (
        f"A message {role} another process, of which there is none: ValueError for this one, else NotImplementedError."
    )
    return transfer


send, isend, send_object_list = (_transfer(n, "destination", "to") for n in ("send", "isend", "send_object_list"))
recv, irecv, recv_object_list = (_transfer(n, "source", "of") for n in ("recv", "irecv", "recv_object_list"))


class P2POp:
    """A message for :func:`batch_isend_irecv`. Errors: ValueError for another ``op`` than isend and irecv."""

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.group, self.tag = op, one_tensor(tensor, "tensor"), found(group), tag
        self.peer = self.group_peer = peer if group_peer is None else group_peer


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Messages of this process to itself: the receivers get copies, in order. Errors: NotImplementedError for other peers."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    sent, received = ([op for op in p2p_op_list if op.op is kind] for kind in (isend, irecv))
    if any(op.peer != 0 for op in p2p_op_list) or len(sent) != len(received):
        raise unsupported("batch_isend_irecv", "there is no other process")
    for source, target in zip(sent, received, strict=True):
        target.tensor.detach().copy_(source.tensor.detach())
    return [Work([op.tensor]) for op in p2p_op_list]


class _CoalescingManager:
    """The collectives of one ``with _coalescing_manager()``, which are done when they are called."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        self.works.extend([work] if work is not None else [])

    def wait(self) -> None:
        """All of them are done."""


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    found(group)
    yield _CoalescingManager()


naming.present(globals(), "torch.distributed.distributed_c10d")
