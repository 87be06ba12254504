"""How the default group begins: its processes meet by a store."""

from __future__ import annotations

import atexit
import itertools
import sys
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.groups import GroupMember, ProcessGroup
from shim_torch._impl.distributed.library import mpi_library
from shim_torch._impl.distributed.nccl_backend import make_engine, nccl_library, serves
from shim_torch._impl.distributed.ranks import _world
from shim_torch._impl.distributed.stores import PrefixStore, Store
from shim_torch._impl.native import _core

_starts = itertools.count()  # a store that is used again holds what an earlier group said


def start_world(
    backend: str, store: Store, rank: int, size: int, timeout: timedelta, options: Any = None, device: Any = None
) -> None:
    """Makes the default group."""
    if not 0 <= rank < size:
        raise ValueError(f"torch.distributed.init_process_group: rank {rank} of {size} processes")
    engine, on_device, session, limit = None, None, None, max(1, int(timeout / timedelta(milliseconds=1)))
    if size > 1:
        if store._core_store is None:
            raise NotImplementedError(
                "torch.distributed.init_process_group: stores written in Python are not supported by shim-torch"
            )
        prefix = f"{store._prefix}shim/{next(_starts)}/"
        by_nccl, by_mpi = serves(backend, "cuda") == "nccl" and nccl_library(), bool(serves(backend, "cpu"))
        by_mpi = by_mpi and (
            mpi_library() or not by_nccl
        )  # with NCCL alone, collectives of CPU tensors say what is missing
        session = _core.open_session(store._core_store, prefix, rank, size, limit, by_mpi)
        if by_mpi:
            engine = session.group(range(size), 0, "default_pg", limit)
        if by_nccl:
            on_device = make_engine(session, range(size), "default", "default_pg", limit, options)
    _world.group_count = 1
    _world.session = session
    group = ProcessGroup(
        backend, "0", PrefixStore("default_pg", store), "default_pg", rank, size, engine, timeout, on_device
    )  # fmt: skip
    GroupMember.WORLD = _world.add(group, range(size))
    group.bound_device_id = device
    if device is not None and on_device is not None:
        on_device.communicator(device.index)  # at once, as PyTorch does for a device that is named


@atexit.register
def _leave() -> None:
    """Others learn that this process left in order; by an exception that nobody caught it did not."""
    if _world.session is not None and not hasattr(sys, "last_value"):
        _world.session.leave()
