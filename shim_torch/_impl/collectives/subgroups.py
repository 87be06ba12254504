"""Groups made of the whole group's processes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.collectives.backend import Backend
from shim_torch._impl.collectives.checks import found
from shim_torch._impl.collectives.environment import (  # noqa: F401
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
from shim_torch._impl.collectives.groups import (
    ProcessGroup,
)
from shim_torch._impl.collectives.point_to_point import _coalescing_manager as _coalescing_manager
from shim_torch._impl.collectives.point_to_point import _CoalescingManager as _CoalescingManager
from shim_torch._impl.collectives.ranks import (  # noqa: F401
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
from shim_torch._impl.collectives.single import _all_gather_base as _all_gather_base
from shim_torch._impl.collectives.single import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.collectives.stores import (
    PrefixStore,
)
from shim_torch._impl.surface import naming


def new_group(
    ranks: Any = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None, **_: Any,
) -> ProcessGroup:  # fmt: skip
    """A group of this process. Errors: ValueError for ranks that are not in the whole."""
    world = found()
    if ranks is not None:
        ranks = list(ranks)
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
        if len(ranks) > 1:
            raise ValueError(
                "the new group's world size should be less or equal to the world size set by init_process_group"
            )
        for rank in ranks:
            if rank != 0:
                raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to 0 (world_size=1)")
    name = str(_world.group_count)
    _world.group_count += 1
    kind = str(Backend(backend)) if backend else world._backend
    group = ProcessGroup(kind, name, PrefixStore(name, world._store), group_desc or "undefined")
    return _world.add(group)


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None, **_: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Groups of ``group_size`` processes: this one's, in a list. Errors: ValueError for a larger size."""
    found(group)
    if group_size is not None and group_size != 1:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size (1)")
    made = new_group(backend=backend)
    return made, [made]


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
    return homes.get(0, (None, None))[1], groups


def split_group(parent_pg: Any = None, split_ranks: Any = None, *_: Any, **__: Any) -> ProcessGroup | None:
    """A part of a group, for NCCL. Errors: RuntimeError for a group that is bound to no device."""
    parent = found(parent_pg)
    if parent.bound_device_id is None:
        raise RuntimeError("No device associated with the default pg, not safe to split any process groups")
    return new_group(split_ranks[0], backend=parent._backend)


naming.present(globals(), "torch.distributed.distributed_c10d")
