"""Groups made of the whole group's processes."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.backend import Backend, check_backend
from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.environment import is_torchelastic_launched
from shim_torch._impl.distributed.groups import GroupMember, ProcessGroup
from shim_torch._impl.distributed.library import mpi_library
from shim_torch._impl.distributed.nccl_backend import make_engine, nccl_library, serves
from shim_torch._impl.distributed.ranks import _world, get_process_group_ranks
from shim_torch._impl.distributed.stores import PrefixStore
from shim_torch._impl.distributed.timeouts import timespan
from shim_torch._impl.surface import naming

_TAGS = 30000  # what every MPI has


def _checked(ranks: Any, size: int) -> list[int]:
    ranks = list(range(size)) if ranks is None else list(ranks)
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ranks:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    return sorted(ranks)


def new_group(
    ranks: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """A group of some processes, which all of them ask for in the same order (with local synchronization: its members do).

    Outside of it: ``GroupMember.NON_GROUP_MEMBER``. Errors: ValueError for ranks that are not in the whole.
    """
    world = found()
    limit = world._timeout if timeout is None else timespan(timeout)
    members = _checked(ranks, world.size())
    if use_local_synchronization:
        made = _world.local_counts.get(tuple(members), 0)
        _world.local_counts[tuple(members)] = made + 1
        name = f"{'_'.join(map(str, members))}_{made}"
    else:
        name = str(_world.group_count)
    _world.group_count += 1
    if world.rank() not in members:
        _world.pg_group_ranks[GroupMember.NON_GROUP_MEMBER] = {
            rank: i for i, rank in enumerate(members)
        }  # the latest's
        return GroupMember.NON_GROUP_MEMBER
    kind = str(Backend(backend)) if backend else world._backend
    check_backend(kind, len(members))
    engine, on_device, most = None, None, max(1, int(limit / timedelta(milliseconds=1)))
    if len(members) > 1:
        on_device = _on_device(kind, members, name, group_desc, most, pg_options)
        if serves(kind, "cpu") and (mpi_library() or on_device is None):
            tag = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % _TAGS
            engine = _world.session.group(members, tag, repr(group_desc or name), most)
    store = PrefixStore(name, world._store)
    number = members.index(world.rank())
    group = ProcessGroup(kind, name, store, group_desc or "undefined", number, len(members), engine, limit, on_device)
    if device_id is not None and on_device is not None:
        group.bound_device_id = device_id
        on_device.communicator(device_id.index)
    return _world.add(group, members)


def _on_device(kind: str, members: list[int], name: str, desc: str | None, limit: int, options: Any) -> Any:
    if serves(kind, "cuda") != "nccl" or not nccl_library():
        return None
    return make_engine(_world.session, members, f"group {name}", repr(desc or name), limit, options)


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None, **_: Any,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of ``group_size`` neighbours: this process's, and all. Errors: ValueError for a size that does not divide the whole."""
    size = found(group).size()
    if group_size is None:
        group_size = size if not is_torchelastic_launched() else int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if group_size > size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    every = get_process_group_ranks(group)
    groups = [
        new_group(every[first : first + group_size], timeout, backend, pg_options, group_desc=group_desc)
        for first in range(0, size, group_size)
    ]
    return next(made for made in groups if made != GroupMember.NON_GROUP_MEMBER), groups


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any, timeout: Any = None, backend: str | None = None, **_: Any
) -> tuple[ProcessGroup | None, list[ProcessGroup]]:
    """Groups by their ranks: this process's, and all. Errors: ValueError for a rank in two of them."""
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    homes: dict[int, tuple[Any, ProcessGroup]] = {}
    groups = []
    for ranks in ranks_per_subgroup_list:
        home = ranks, new_group(ranks, timeout, backend)
        groups.append(home[1])
        for rank in ranks:
            first = homes.setdefault(rank, home)
            if first is not home:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {first[0]} and {ranks}")
    mine = next((made for made in groups if made != GroupMember.NON_GROUP_MEMBER), None)
    return mine, groups


def split_group(
    parent_pg: Any = None, split_ranks: Any = None, timeout: Any = None, pg_options: Any = None, group_desc: str | None = None,
    group_name: str | None = None,
) -> ProcessGroup | None:  # fmt: skip
    """The part of a group that this process is in: lists of the group's ranks. NCCL splits the group's communicator.

    Errors: RuntimeError for a group that is bound to no device, ValueError for ranks that are not in it, or in two parts.
    """
    parent = found(parent_pg)
    if parent.bound_device_id is None:
        raise RuntimeError("No device associated with the default pg, not safe to split any process groups")
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    flat = [rank for part in split_ranks for rank in part]
    if len(set(flat)) != len(flat) or not all(0 <= rank < parent.size() for rank in flat):
        raise ValueError(
            f"split_ranks must be different ranks of the group of {parent.size()} processes, got {split_ranks}"
        )
    _world.group_count += 1
    parts = [sorted(part) for part in split_ranks]
    color = next((i for i, part in enumerate(parts) if parent.rank() in part), -1)
    every = get_process_group_ranks(parent)
    members = [every[rank] for rank in parts[color]] if color >= 0 else []
    number = members.index(every[parent.rank()]) if members else 0
    name, limit = group_name or f"{parent.group_name}:split:{_world.group_count}", timeout or parent._timeout
    engine = None
    if parent._device_engine is not None:
        most = max(1, int(limit / timedelta(milliseconds=1)))
        engine = parent._device_engine.split(parent.bound_device_id.index, color, number, members, name, most)
    if color < 0:
        return None
    store = PrefixStore(name, parent._store)
    made = ProcessGroup("nccl", name, store, group_desc or "undefined", number, len(members), None, limit, engine)
    made.bound_device_id = parent.bound_device_id
    return _world.add(made, members)


naming.present(globals(), "torch.distributed.distributed_c10d")
