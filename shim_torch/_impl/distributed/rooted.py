"""Gathering at one process, scattering from one, and the barrier that says who is missing."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.checks import (
    check_shapes,
    check_transported,
    found,
    one_tensor,
    outside,
    root_of,
    same_dtype,
    several_tensors,
)
from shim_torch._impl.distributed.engine import Act, flat_parts, start
from shim_torch._impl.distributed.failures import DistBackendError
from shim_torch._impl.distributed.on_devices import on_device
from shim_torch._impl.distributed.timeouts import duration
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.surface import naming

_MONITOR_TAG = 2**20  # of messages between processes that no program sends


def gather(
    tensor: Any, gather_list: Any = None, dst: Any = None, group: Any = None, async_op: bool = False, group_dst: Any = None
) -> Work | None:  # fmt: skip
    """The tensors of the group, in a list of one process."""
    one_tensor(tensor, "tensor")
    outputs = several_tensors(gather_list, "gather_list") if gather_list else []
    if outside(group, "gather"):
        return None
    group = found(group)
    if dst is None and group_dst is None:
        dst = 0
    at_root = group_dst == group.rank() if group_dst is not None else _is_me(group, dst)
    if at_root and not outputs:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not at_root and outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    root = root_of(group, dst, group_dst, "gather")
    same_dtype(tensor, *outputs)
    if at_root and len(outputs) != group.size():
        raise RuntimeError(
            f"ProcessGroupGloo::gather: Incorrect output list size {len(outputs)}. Output list size should be "
            f"{group.size()}, same as size of the process group."
        )
    check_shapes(outputs, tensor, "gather")
    check_transported(group, tensor)
    if on_device(group, tensor):
        return on_devices.start(
            group, "gather", Act.GATHER, inputs=tensor, outputs=outputs, root=root, results=outputs, async_op=async_op
        )  # fmt: skip
    if group.size() == 1:
        return start(
            group, "gather", Act.GATHER, copies=[(tensor.detach(), outputs[0])], results=outputs, async_op=async_op
        )
    whole, parts = flat_parts(outputs, filled=False) if at_root else (None, [])
    copies = list(zip(parts, outputs, strict=True))
    return start(
        group, "gather", Act.GATHER, input=tensor, output=whole, root=root, copies=copies, results=outputs,
        async_op=async_op,
    )  # fmt: skip


def _is_me(group: Any, rank: int) -> bool:
    from shim_torch._impl.distributed.ranks import get_process_group_ranks

    ranks = get_process_group_ranks(group)
    return rank in ranks and ranks.index(rank) == group.rank()


def scatter(
    tensor: Any, scatter_list: Any = None, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:  # fmt: skip
    """The tensor that one process's list has for this one, copied into ``tensor``."""
    one_tensor(tensor, "tensor")
    inputs = several_tensors(scatter_list, "scatter_list") if scatter_list else []
    if outside(group, "scatter"):
        return None
    group = found(group)
    root = root_of(group, src, group_src, "scatter", 0)
    at_root = root == group.rank()
    if at_root and not inputs:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if not at_root and inputs:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    if at_root:
        one_part_each(inputs, group)
    same_dtype(tensor, *inputs)
    check_shapes(inputs, tensor, "scatter")
    check_transported(group, tensor)
    if on_device(group, tensor):
        return on_devices.start(
            group, "scatter", Act.SCATTER, inputs=inputs, outputs=tensor, root=root, results=[tensor], async_op=async_op
        )  # fmt: skip
    whole, _ = flat_parts(inputs, filled=True) if at_root else (None, [])
    return start(
        group, "scatter", Act.SCATTER, input=whole, output=tensor, root=root, results=[tensor], async_op=async_op
    )  # fmt: skip


def one_part_each(parts: Any, group: Any) -> None:
    """RuntimeError unless there is a part for each process."""
    if len(parts) != group.size():
        raise RuntimeError(
            f"ProcessGroupGloo::scatter: Incorrect input list size {len(parts)}. Input list size should be "
            f"{group.size()}, same as size of the process group."
        )


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Waits for all processes; the first one says which did not come. Errors: RuntimeError; ValueError for another backend than gloo."""
    if outside(group, "monitored_barrier"):
        return
    group = found(group)
    if group._backend not in ("gloo", "undefined") and "cpu:gloo" not in group._backend:
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    limit = group._timeout if timeout is None else duration(timeout)
    if group.size() > 1:
        if limit <= timedelta(0):
            raise DistBackendError(f"Rank {group.rank()} timed out in monitoredBarrier after 0 ms.")
        (_monitor if group.rank() == 0 else _report)(group, limit, wait_all_ranks)


def _monitor(group: Any, limit: timedelta, wait_all_ranks: bool) -> None:
    end, missing = time.monotonic() + limit.total_seconds(), []
    for rank in range(1, group.size()):
        left = timedelta(seconds=max(0.001, end - time.monotonic()))
        try:
            _message(group, Act.RECEIVE, rank).wait(left)
        except DistBackendError:
            missing.append(rank)
            if not wait_all_ranks:
                break
    if missing:
        names = ", ".join(map(str, missing))
        text = f"[Rank 0]: Ranks {names}" if wait_all_ranks else f"[Rank 0]: Rank {names}"
        text += f" failed to pass monitoredBarrier in {int(limit / timedelta(milliseconds=1))} ms"
        group._engine.abort(text)
        raise DistBackendError(text)
    for rank in range(1, group.size()):
        _message(group, Act.SEND, rank).wait(limit)


def _report(group: Any, limit: timedelta, _: bool) -> None:
    try:
        _message(group, Act.SEND, 0).wait(limit)
        _message(group, Act.RECEIVE, 0).wait(limit)
    except DistBackendError as error:
        text = (
            f"Rank {group.rank()} successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
            f"rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n{error}"
        )
        group._engine.abort(text)
        raise DistBackendError(text) from None


def _message(group: Any, act: Act, peer: int) -> Work:
    import shim_torch as torch

    byte = torch.zeros(1, dtype=torch.uint8)
    given: dict[str, Any] = {"input": byte} if act == Act.SEND else {"output": byte}
    work = start(group, "monitored_barrier", act, root=peer, tag=_MONITOR_TAG, async_op=True, **given)
    assert work is not None
    return work


naming.present(globals(), "torch.distributed.distributed_c10d")
