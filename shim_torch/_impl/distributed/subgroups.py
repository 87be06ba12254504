"""Groups made of the whole group's processes."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.backend import Backend, check_backend
from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.collectives import _all_gather_base as _all_gather_base
from shim_torch._impl.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.distributed.environment import (  # noqa: F401
    DebugLevel,
    get_debug_level,
    get_node_local_rank,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    set_debug_level,
    set_debug_level_from_env,
)
from shim_torch._impl.distributed.groups import GroupMember, ProcessGroup
from shim_torch._impl.distributed.point_to_point import _coalescing_manager as _coalescing_manager
from shim_torch._impl.distributed.point_to_point import _CoalescingManager as _CoalescingManager
from shim_torch._impl.distributed.ranks import (  # noqa: F401
    BackendConfig,
    _get_global_rank,
    _get_process_group_name,
    _known,
    _rank_not_in_group,
    _world,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
)
from shim_torch._impl.distributed.stores import (
    PrefixStore,
)
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
    members = _checked(ranks, world.size())
    if use_local_synchronization:
        made = _world.local_counts.get(tuple(members), 0)
        _world.local_counts[tuple(members)] = made + 1
        name = f"{'_'.join(map(str, members))}_{made}"
    else:
        name = str(_world.group_count)
    _world.group_count += 1
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    kind = str(Backend(backend)) if backend else world._backend
    check_backend(kind, len(members))
    limit = world._timeout if timeout is None else timeout
    engine = None
    if len(members) > 1:
        tag = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % _TAGS
        engine = _world.session.group(
            members, tag, repr(group_desc or name), max(1, int(limit / timedelta(milliseconds=1)))
        )
    store = PrefixStore(name, world._store)
    number = members.index(world.rank())
    group = ProcessGroup(kind, name, store, group_desc or "undefined", number, len(members), engine, limit)
    return _world.add(group, members)


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


def split_group(parent_pg: Any = None, split_ranks: Any = None, *_: Any, **__: Any) -> ProcessGroup | None:
    """A part of a group, for NCCL. Errors: RuntimeError for a group that is bound to no device."""
    parent = found(parent_pg)
    if parent.bound_device_id is None:
        raise RuntimeError("No device associated with the default pg, not safe to split any process groups")
    return new_group(split_ranks[0], backend=parent._backend)


naming.present(globals(), "torch.distributed.distributed_c10d")
