"""Process groups: starting and ending them, and the names of ``torch.distributed.distributed_c10d``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.distributed.backend import Backend, check_backend
from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.collectives import _all_gather_base as _all_gather_base
from shim_torch._impl.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
)
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
from shim_torch._impl.distributed.groups import (
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
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from shim_torch._impl.distributed.nccl_backend import ProcessGroupNCCL
from shim_torch._impl.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from shim_torch._impl.distributed.point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    recv_object_list,
    send,
    send_object_list,
)
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
from shim_torch._impl.distributed.reductions import RedOpType, ReduceOp, _make_nccl_premul_sum
from shim_torch._impl.distributed.rooted import gather, monitored_barrier, scatter
from shim_torch._impl.distributed.stores import (
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
from shim_torch._impl.distributed.subgroups import (  # noqa: F401
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.distributed.world import start_world
from shim_torch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

__all__ = [
    "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BarrierOptions",
    "BroadcastOptions", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore",
    "GatherOptions", "GradBucket", "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "ProcessGroupNCCL",
    "QueueEmptyError", "RedOpType", "ReduceOp", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions", "Store",
    "TCPStore", "Work", "_make_nccl_premul_sum", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object",
    "all_gather_single", "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "gather", "gather_object", "irecv", "isend",
    "monitored_barrier", "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
]  # fmt: skip

GroupName = str


class _GroupNames:
    @property
    def WORLD(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _GroupNames()


def is_available() -> bool:
    """The package is there."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction of complex tensors is defined."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


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

    Several processes meet by the store, and become one MPI world. Errors: ValueError for a second group, and for a size or
    rank that nothing tells; DistBackendError where not all come in time; RuntimeError where the MPI library is missing.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is None:
        store, rank, world_size = _meeting(init_method, int(world_size), int(rank), timeout)
    elif world_size <= 0:
        raise AssertionError("world_size must be positive if using store")
    elif rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    name = str(Backend(backend)) if backend else "undefined"
    check_backend(name, world_size)
    if timeout is not None:
        store.set_timeout(timeout)
    limit = timeout or (_get_default_timeout(name) if name != "undefined" else default_pg_timeout)
    if device_id is not None:
        from shim_torch import device

        device_id = device(device_id) if not isinstance(device_id, int) else device("cuda", device_id)
    start_world(name, store, rank, world_size, limit, pg_options, device_id)


def _meeting(init_method: str | None, world_size: int, rank: int, timeout: Any) -> tuple[Any, int, int]:
    """(the store, the rank, the world size) that a URL or the environment gives."""
    from shim_torch.distributed.rendezvous import rendezvous

    return next(iter(rendezvous(init_method or "env://", rank, world_size, timeout=timeout)))


def destroy_process_group(group: Any = None) -> None:
    """Ends a group, or (None, or the default one) all. Errors: AssertionError when there is none, ValueError for no group."""
    if group is None or group is GroupMember.WORLD:
        if GroupMember.WORLD is None:
            raise AssertionError("Process group cannot be None")
        _world.clear()
    elif group != GroupMember.NON_GROUP_MEMBER:
        if not isinstance(group, ProcessGroup):
            raise ValueError("Invalid process group specified")
        _known(group)
        group.shutdown()
        _world.remove(group)


def _get_default_timeout(backend: Any) -> Any:
    """How long PyTorch's groups of a backend wait."""
    return default_pg_nccl_timeout if backend == Backend.NCCL else default_pg_timeout


def _unregister_process_group(group_name: str) -> None:
    """Groups are found by their objects alone here: there is no name to forget."""


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
    raise NotImplementedError("torch.distributed._time_estimator is not supported by shim-torch")
    yield
