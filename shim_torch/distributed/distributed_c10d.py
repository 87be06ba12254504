"""Process groups of one process: starting and ending them, and the names of ``torch.distributed.distributed_c10d``."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.collectives import groups as _groups
from shim_torch._impl.collectives.backend import Backend
from shim_torch._impl.collectives.groups import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    GradBucket,
    GroupMember,
    ProcessGroup,
    RedOpType,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
)
from shim_torch._impl.collectives.single import (
    P2POp,
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_object,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    found,
    gather,
    gather_object,
    irecv,
    isend,
    monitored_barrier,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    unsupported,
)
from shim_torch._impl.collectives.single import _all_gather_base as _all_gather_base
from shim_torch._impl.collectives.single import _coalescing_manager as _coalescing_manager
from shim_torch._impl.collectives.single import _CoalescingManager as _CoalescingManager
from shim_torch._impl.collectives.single import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.collectives.stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
    TCPStore,
)
from shim_torch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BarrierOptions",
    "BroadcastOptions",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GatherOptions",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "RedOpType",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]

_world = _groups._Groups()
GroupName = str


class DebugLevel(enum.IntEnum):
    OFF, INFO, DETAIL = range(3)


_debug_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level of TORCH_DISTRIBUTED_DEBUG, which changes nothing here."""
    return _debug_level


def set_debug_level(level: DebugLevel) -> None:
    """What ``get_debug_level`` answers."""
    global _debug_level
    _debug_level = level


def set_debug_level_from_env() -> None:
    """Takes the level from TORCH_DISTRIBUTED_DEBUG. Errors: RuntimeError for another word than OFF, INFO, DETAIL."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[word])


class _GroupNames:
    @property
    def WORLD(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _GroupNames()


class BackendConfig:
    """Which backend serves which kind of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map = dict(part.split(":", 1) for part in _groups.config(str(backend)).split(","))

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        return self.device_backend_map


def is_available() -> bool:
    """The package is there (for a group of one)."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def is_nccl_available() -> bool:
    """Collectives between GPUs are not supported."""
    return False


def is_gloo_available() -> bool:
    """A group of one process needs no transport: answered as gloo."""
    return True


def is_mpi_available() -> bool:
    return False


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there by its name."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction of complex tensors is defined."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment. Errors: RuntimeError where there is none, and no fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def _meeting(init_method: str | None, world_size: int, rank: int) -> tuple[Any, int]:
    """(the store, the world size) that a URL or the environment gives. Errors: ValueError for what is not said."""
    from shim_torch.distributed.rendezvous import rendezvous

    url = init_method or "env://"
    kind = f"Error initializing torch.distributed using {url.split(':')[0]}:// rendezvous: "
    if url.startswith("env:"):
        for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
            if value < 0 and name not in os.environ:
                raise ValueError(f"{kind}environment variable {name} expected, but not set")
        world_size = world_size if world_size >= 0 else int(os.environ["WORLD_SIZE"])
    elif url.startswith(("tcp:", "file:")):
        for name, value in (("rank", rank), ("world_size", world_size)):
            if value < 0 and f"{name}=" not in url:
                raise ValueError(f"{kind}{name.replace('_', ' ')} parameter missing")
    if world_size > 1:
        return None, world_size
    store, _, world_size = next(iter(rendezvous(url, rank, world_size)))
    return store, world_size


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Starts the default group. world_size and rank come from the arguments, the URL or the environment, as in PyTorch.

    Errors: ValueError for a second one, and for a size or rank that nothing tells; NotImplementedError for more processes.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is None:
        store, world_size = _meeting(init_method, int(world_size), int(rank))
    elif world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    elif rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    if world_size != 1:
        raise unsupported("init_process_group", f"got world_size={world_size}")
    name = str(Backend(backend)) if backend else "undefined"
    if timeout is not None and hasattr(store, "set_timeout"):
        store.set_timeout(timeout)
    _world.group_count = 1
    world = ProcessGroup(name, "0", PrefixStore("default_pg", store), "default_pg")
    if device_id is not None:
        from shim_torch import device

        world.bound_device_id = device(device_id) if not isinstance(device_id, int) else device("cuda", device_id)
    GroupMember.WORLD = _world.add(world)


def destroy_process_group(group: Any = None) -> None:
    """Ends a group, or (None, or the default one) all. Errors: AssertionError when there is none."""
    if group is None or group is GroupMember.WORLD:
        if GroupMember.WORLD is None:
            raise AssertionError("Process group cannot be None")
        _world.clear()
    elif group != GroupMember.NON_GROUP_MEMBER:
        _known(group)
        _world.remove(group)


def _known(group: Any) -> ProcessGroup:
    """A group that exists. Errors: ValueError for one that was ended."""
    group = found(group)
    if isinstance(group, ProcessGroup) and group not in _world.pg_group_ranks:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group


def _get_default_timeout(backend: Any) -> Any:
    """How long PyTorch's groups of a backend wait."""
    return default_pg_nccl_timeout if backend == Backend.NCCL else default_pg_timeout


def _unregister_process_group(group_name: str) -> None:
    """Groups are found by their objects alone here: there is no name to forget."""


def get_rank(group: Any = None) -> int:
    """0, or -1 for a group that this process is not in."""
    found()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _known(group).rank()


def get_world_size(group: Any = None) -> int:
    """1, or -1 for a group that this process is not in."""
    found()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _known(group).size()


def get_backend(group: Any = None) -> str:
    """The backend's name."""
    return Backend(_known(group)._backend)


def get_backend_config(group: Any = None) -> str:
    """Which backend serves which kind of device, as text."""
    return repr(BackendConfig(_known(group)._backend))


def get_default_backend_for_device(device: Any) -> str:
    """The backend that PyTorch takes for a kind of device. Errors: ValueError for one that has none."""
    kind = device if isinstance(device, str) else device.type
    kind = kind.split(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_pg_count() -> int:
    """How many groups were made."""
    return _world.group_count


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank that a process of the whole has in a group. Errors: ValueError for one that is not in it."""
    if group is GroupMember.WORLD:
        return global_rank
    if global_rank not in _world.pg_group_ranks[_known(group)]:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return global_rank


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank that a process of a group has in the whole. Errors: ValueError for one that is not in the group."""
    if group is GroupMember.WORLD:
        return group_rank
    if group_rank not in _world.pg_group_ranks[_known(group)]:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group_rank


_get_global_rank = get_global_rank  # its older name


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks of a group: [0]."""
    return list(_world.pg_group_ranks[_known(group)])


def _rank_not_in_group(group: Any) -> bool:
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def _get_process_group_name(group: Any) -> str:
    return _world.pg_names.get(group, "None")


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


def _get_default_group() -> ProcessGroup:
    return found()


def _get_default_store() -> Any:
    return found()._store


def _get_pg_default_device(group: Any = None) -> Any:
    from shim_torch import device

    return device("cuda" if found(group)._backend == "nccl" else "cpu")


def _resolve_process_group(group_name: Any) -> ProcessGroup:
    """The group of that name. Errors: RuntimeError for an unknown one."""
    default = found()
    if group_name in (default, None):
        return default
    for group, name in _world.pg_names.items():
        if group_name in (group, name):
            return group
    raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")


@contextmanager
def _time_estimator(group: Any = None, device: Any = None) -> Iterator[Any]:
    raise unsupported("_time_estimator", "there is no NCCL")
    yield
