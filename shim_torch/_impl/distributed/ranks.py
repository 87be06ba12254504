"""The groups that exist, their backends, and the ranks in them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import groups as _groups
from shim_torch._impl.distributed.backend import Backend
from shim_torch._impl.distributed.checks import found
from shim_torch._impl.distributed.collectives import _all_gather_base as _all_gather_base
from shim_torch._impl.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.distributed.groups import (
    GroupMember,
    ProcessGroup,
)
from shim_torch._impl.distributed.point_to_point import _coalescing_manager as _coalescing_manager
from shim_torch._impl.distributed.point_to_point import _CoalescingManager as _CoalescingManager
from shim_torch._impl.surface import naming

_world = _groups._Groups()


class BackendConfig:
    """Which backend serves which kind of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map = dict(part.split(":", 1) for part in _groups.config(str(backend)).split(","))

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """Names of backends by kinds of device: {"cpu": "gloo", "cuda": "gloo"}."""
        return self.device_backend_map


def _known(group: Any) -> ProcessGroup:
    """A group that exists. Errors: ValueError for one that was ended."""
    if not isinstance(group, int):
        group = found(group)
    if group not in _world.pg_group_ranks and isinstance(group, (ProcessGroup, int)):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group


def _own(group: Any) -> ProcessGroup:
    if group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return _known(found(group))


def get_rank(group: Any = None) -> int:
    """This process's number in the group, -1 for a group that it is not in."""
    found()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _known(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of processes, -1 for a group that this process is not in."""
    found()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _known(group).size()


def get_backend(group: Any = None) -> str:
    """The backend's name. Errors: ValueError for a group that this process is not in."""
    return Backend(_own(group)._backend)


def get_backend_config(group: Any = None) -> str:
    """Which backend serves which kind of device, as text."""
    return repr(BackendConfig(_own(group)._backend))


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
    ranks = _world.pg_group_ranks[_known(group)]
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks[global_rank]


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank that a process of a group has in the whole. Errors: ValueError for one that is not in the group."""
    if group is GroupMember.WORLD:
        return group_rank
    for global_rank, number in _world.pg_group_ranks[_known(group)].items():
        if number == group_rank:
            return global_rank
    raise ValueError(f"Group rank {group_rank} is not part of group {group}")


_get_global_rank = get_global_rank  # its older name


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks in the whole of a group's processes, in the group's order."""
    return list(_world.pg_group_ranks[_known(group)])


def _rank_not_in_group(group: Any) -> bool:
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def _get_process_group_name(group: Any) -> str:
    return _world.pg_names.get(group, "None")


naming.present(globals(), "torch.distributed.distributed_c10d")
