"""The objects of torch.distributed: groups, their table, kinds of reductions, options."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.group_methods import GroupMethods
from shim_torch._impl.distributed.reductions import RedOpType
from shim_torch._impl.surface import naming

__all__: list[str] = []


class ProcessGroup(GroupMethods):
    """A group of processes. ``engine``, ``device_engine``: what collectives of CPU and of CUDA tensors run on, if any."""

    bound_device_id: Any = None
    _copies = True  # of large CUDA tensors between the GPUs, until the first one says that there are none

    def __init__(
        self, backend: str = "gloo", name: str = "0", store: Any = None, desc: str = "undefined",
        rank: int = 0, size: int = 1, engine: Any = None, timeout: timedelta = timedelta(minutes=30),
        device_engine: Any = None,
    ) -> None:  # fmt: skip
        self._backend, self.group_name, self.group_desc, self._store = backend, name, desc, store
        self._rank, self._size, self._engine, self._device_engine = rank, size, engine, device_engine
        self._device_types: list[Any] = []
        self.set_timeout(timeout)

    def rank(self) -> int:
        """This process's number in the group."""
        return self._rank

    def size(self) -> int:
        """The number of processes."""
        return self._size

    def name(self) -> str:
        """The backend's name; "gloo" for a group that has several or none."""
        return "gloo" if self._backend == "undefined" or ":" in self._backend else self._backend

    def get_group_store(self) -> Any:
        """The store that the group was made with."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """How long collectives that begin from now on may take."""
        self._timeout, self._limit = timeout, max(1, int(timeout / timedelta(milliseconds=1)))

    def _get_sequence_number_for_group(self) -> int:
        return sum(engine.sequence for engine in (self._engine, self._device_engine) if engine is not None)

    def shutdown(self) -> None:
        """Waits for what runs on the device, and ends NCCL's communicators."""
        if self._device_engine is not None:
            self._device_engine.shutdown()

    def abort(self) -> None:
        """What runs in the group, and what is asked of it from now on, raises DistBackendError."""
        for engine in (self._engine, self._device_engine):
            if engine is not None:
                engine.abort(f"the process group {self.group_name} was aborted")

    def _get_backend(self, device: Any) -> Any:
        """What serves a kind of device. Errors: RuntimeError where nothing does."""
        kind = device if isinstance(device, str) else device.type
        if kind.partition(":")[0] == "cuda" and self._device_engine is not None:
            from shim_torch._impl.distributed.nccl_backend import ProcessGroupNCCL

            return ProcessGroupNCCL._of(self)
        if kind == "cpu" and (self._engine is not None or self._size == 1):
            return self
        raise RuntimeError(f"No backend type associated with device type {kind}")

    def _set_group_desc(self, desc: str) -> None:
        self.group_desc = desc

    def _set_group_name(self, name: str) -> None:
        self.group_name = name


class GradBucket:
    """Gradients that DistributedDataParallel reduces together, as it hands them to communication hooks."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("torch._C._distributed_c10d.GradBucket: No constructor defined!")


class GroupMember:
    """The default group (``WORLD``), and the value that stands for no member."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Groups:
    """The groups that exist: ``torch.distributed.distributed_c10d._world``."""

    def __init__(self) -> None:
        self.pg_map: dict[Any, Any] = {}
        self.pg_names: dict[Any, str] = {}
        self.pg_group_ranks: dict[Any, dict[int, int]] = {}
        self.pg_backend_config: dict[Any, str] = {}
        self.group_count = 0
        self.local_counts: dict[tuple[int, ...], int] = {}
        self.session: Any = None  # the core's, of a default group of several processes

    @property
    def default_pg(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @default_pg.setter
    def default_pg(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value

    def add(self, group: ProcessGroup, ranks: Any = (0,)) -> ProcessGroup:
        self.pg_map[group] = (group._backend, group._store)
        self.pg_names[group] = group.group_name
        self.pg_group_ranks[group] = {rank: number for number, rank in enumerate(ranks)}
        self.pg_backend_config[group] = config(group._backend)
        return group

    def remove(self, group: ProcessGroup) -> None:
        for table in (self.pg_map, self.pg_names, self.pg_group_ranks, self.pg_backend_config):
            table.pop(group, None)

    def clear(self) -> None:
        for group in list(self.pg_map):
            group.shutdown()
        if self.session is not None:
            self.session.leave()
        self.__init__()  # type: ignore[misc]
        GroupMember.WORLD = None


def config(backend: str) -> str:
    """``device:backend`` pairs, as ``get_backend_config`` prints them."""
    if backend == "undefined":
        return "cpu:gloo,cuda:nccl"
    return backend if ":" in backend else f"cuda:{backend}" if backend == "nccl" else f"cpu:{backend},cuda:{backend}"


def _options(name: str, **defaults: Any) -> type:
    def __init__(self: Any) -> None:
        vars(self).update(defaults, timeout=timedelta(milliseconds=-1), asyncOp=True)

    return type(
        name, (), {"__init__": __init__, "__module__": __name__, "__doc__": "What a group's method is called with."}
    )


AllreduceOptions = _options("AllreduceOptions", reduceOp=RedOpType.SUM, sparseIndices=None)
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions", reduceOp=RedOpType.SUM)
AllgatherOptions = _options("AllgatherOptions")
AllToAllOptions = _options("AllToAllOptions")
BarrierOptions = _options("BarrierOptions", device_ids=[], device=None)
BroadcastOptions = _options("BroadcastOptions", rootRank=0, rootTensor=0)
GatherOptions = _options("GatherOptions", rootRank=0)
ReduceOptions = _options("ReduceOptions", reduceOp=RedOpType.SUM, rootRank=0, rootTensor=0)
ReduceScatterOptions = _options("ReduceScatterOptions", reduceOp=RedOpType.SUM)
ScatterOptions = _options("ScatterOptions", rootRank=0)

naming.present(globals(), "torch.distributed.distributed_c10d")
