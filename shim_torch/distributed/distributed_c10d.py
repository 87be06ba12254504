"""Process groups of one process: every collective is the identity, which is what PyTorch computes there too."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributed._backend import Backend
from shim_torch.distributed._stores import HashStore, PrefixStore, Store, TCPStore

__all__ = ["Backend", "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work"]


class RedOpType(IntEnum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class ReduceOp:
    """What a reduction combines with."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX)
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM


class ProcessGroup:
    """A group of processes; here always of this one."""

    def __init__(self, backend: str = "gloo", name: str = "0") -> None:
        self._backend, self.group_name = backend, name

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1

    def name(self) -> str:
        return self._backend


class GradBucket:
    """Gradients that DistributedDataParallel reduces together, as it hands them to communication hooks; none are made here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("torch._C._distributed_c10d.GradBucket: No constructor defined!")


class Work:
    """A finished collective."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True


class GroupMember:
    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _GroupNames:
    @property
    def WORLD(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _GroupNames()


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


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _unsupported(function: str, what: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch.distributed.{function}: {what}; shim-torch supports groups of one process (world_size=1) only"
    )


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
) -> None:
    """Starts the default group. world_size and rank come from the arguments or the environment, as in PyTorch."""
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if world_size < 0:
        if "WORLD_SIZE" not in os.environ and init_method in (None, "env://"):
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment variable WORLD_SIZE expected, "
                "but not set"
            )
        world_size = int(os.environ.get("WORLD_SIZE", 1))
    if world_size != 1:
        raise _unsupported("init_process_group", f"got world_size={world_size}")
    GroupMember.WORLD = ProcessGroup(backend or "gloo")


def destroy_process_group(group: Any = None) -> None:
    """Ends the default group."""
    if group is None or group is GroupMember.WORLD:
        GroupMember.WORLD = None


def _get_default_timeout(backend: Any) -> Any:
    """How long PyTorch's groups of a backend wait."""
    from shim_torch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

    return default_pg_nccl_timeout if backend == Backend.NCCL else default_pg_timeout


def _unregister_process_group(group_name: str) -> None:
    """Groups are found by their objects alone here: there is no name to forget."""


def _world(group: Any = None) -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return group or GroupMember.WORLD


def get_rank(group: Any = None) -> int:
    """0."""
    return _world(group).rank()


def get_world_size(group: Any = None) -> int:
    """1."""
    return _world(group).size()


def get_backend(group: Any = None) -> str:
    """The backend's name."""
    return _world(group).name()


def get_group_rank(group: Any, global_rank: int) -> int:
    return global_rank


def _get_global_rank(group: Any, rank: int) -> int:
    """``get_global_rank`` by its older name."""
    return get_global_rank(group, rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    return group_rank


def get_process_group_ranks(group: Any = None) -> list[int]:
    _world(group)
    return [0]


def new_group(ranks: Any = None, timeout: Any = None, backend: str | None = None, **_: Any) -> ProcessGroup:
    """A group of this process."""
    world = _world()
    if ranks is not None and list(ranks) != [0]:
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(backend or world.name(), "1")


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Leaves tensor as it is: the sum over one process."""
    _world(group)
    return _done(async_op)


def reduce(tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    _world(group)
    return _done(async_op)


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    _world(group)
    return _done(async_op)


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    _world(group)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    _world(group)
    return _done(async_op)


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies tensor into tensor_list[0]."""
    _world(group)
    tensor_list[0].copy_(tensor)
    return _done(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    _world(group)
    object_list[0] = obj


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    _world(group)
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    _world(group)
    output.copy_(input_list[0])
    return _done(async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    _world(group)
    output.copy_(input.reshape(output.shape))
    return _done(async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    _world(group)
    output.copy_(input)
    return _done(async_op)


def _peer(function: str) -> Any:
    def transfer(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        _world()
        raise _unsupported(function, "there is no other process")

    transfer.__name__ = function
    return transfer


send, recv, isend, irecv, send_object_list, recv_object_list = (
    _peer(name) for name in ("send", "recv", "isend", "irecv", "send_object_list", "recv_object_list")
)


class P2POp:
    """A point-to-point transfer; there is no peer in a group of one."""

    def __init__(self, op: Any, tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0) -> None:
        raise _unsupported("P2POp", "there is no other process")


def _get_default_group() -> ProcessGroup:
    return _world()


GroupName = str


def _resolve_process_group(group_name: Any) -> ProcessGroup:
    """The group of that name: this process's."""
    found = _world(None)
    if group_name not in (found.group_name, found, None):
        raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")
    return found


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """The objects of the group, in a list: this process's."""
    _world(group)
    if object_gather_list is not None:
        object_gather_list[0] = obj


def gather(
    tensor: Any, gather_list: Any = None, dst: Any = None, group: Any = None, async_op: bool = False, group_dst: Any = None
) -> Work | None:
    """The tensors of the group, in a list: this process's, copied."""
    _world(group)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    gather_list[0].copy_(tensor)
    return _done(async_op)


def scatter(
    tensor: Any, scatter_list: Any = None, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    """The tensor that is meant for this process, the first of the list, copied into ``tensor``."""
    _world(group)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    tensor.copy_(scatter_list[0])
    return _done(async_op)


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: Any = None,
    group: Any = None,
    group_src: Any = None,
) -> None:
    """The object that is meant for this process, the first one."""
    _world(group)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    scatter_object_output_list[0] = scatter_object_input_list[0]


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None, **_: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Groups of ``group_size`` processes: this one's, in a list. Errors: ValueError for a larger size."""
    _world(group)
    if group_size is not None and group_size != 1:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size (1)")
    found = new_group(backend=backend)
    return found, [found]


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """A part from and for every process: a copy."""
    _world(group)
    for out, part in zip(output_tensor_list, input_tensor_list, strict=True):
        out.copy_(part)
    return Work() if async_op else None


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Messages between processes: there is no other one."""
    raise _unsupported("batch_isend_irecv", "there is no other process")


all_gather_single = all_gather_into_tensor

__getattr__ = _asked_of(__name__)
