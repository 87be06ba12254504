"""The objects of torch.distributed for groups of one process: groups, finished work, kinds of reductions."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum
from typing import Any

from shim_torch._impl.surface import naming

__all__: list[str] = []


class RedOpType(IntEnum):
    """The kinds of reductions, with PyTorch's numbers."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class ReduceOp:
    """What a reduction combines with."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX)
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        return RedOpType(op)


class Work:
    """A finished collective; ``tensors``: what it wrote to."""

    def __init__(self, tensors: Any = ()) -> None:
        self._tensors = list(tensors)

    def wait(self, timeout: Any = None) -> bool:
        """True: the work is done."""
        return True

    def is_completed(self) -> bool:
        """True: the work is done."""
        return True

    def is_success(self) -> bool:
        """True: the work is done."""
        return True

    def exception(self) -> None:
        """None: the work did not fail."""
        return None

    def synchronize(self) -> None:
        """The work is done."""

    block_current_stream = synchronize

    def source_rank(self) -> int:
        """0, the only rank."""
        return 0

    def result(self) -> list[Any]:
        """The tensors that the collective gave."""
        return self._tensors

    def get_future(self) -> Any:
        """A future that has the tensors."""
        from shim_torch.futures import Future

        future: Any = Future()
        future.set_result(self._tensors)
        return future


class ProcessGroup:
    """A group of processes; here always of this one. Its methods are the backends' own, which take lists of tensors."""

    bound_device_id: Any = None

    def __init__(self, backend: str = "gloo", name: str = "0", store: Any = None, desc: str = "undefined") -> None:
        self._backend, self.group_name, self.group_desc, self._store = backend, name, desc, store

    def rank(self) -> int:
        """0, the only rank."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The backend's name; "gloo" for a group that has several or none."""
        return "gloo" if self._backend == "undefined" or ":" in self._backend else self._backend

    def get_group_store(self) -> Any:
        """The store that the group was made with."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing is waited for."""

    def shutdown(self) -> None:
        """Nothing runs."""

    abort = shutdown

    def _set_group_desc(self, desc: str) -> None:
        self.group_desc = desc

    def _set_group_name(self, name: str) -> None:
        self.group_name = name

    def barrier(self, *_: Any, **__: Any) -> Work:
        """Work that is done: nobody is waited for."""
        return Work()

    def allreduce(self, tensors: Any, *_: Any, **__: Any) -> Work:
        """Leaves the tensors as they are: the sum over one process."""
        return Work(_listed(tensors))

    allreduce_coalesced = broadcast = reduce = allreduce

    def allgather(self, output_tensors: Any, input_tensors: Any, *_: Any, **__: Any) -> Work:
        """Copies each input into its output."""
        for outputs, tensor in zip(output_tensors, _listed(input_tensors), strict=True):
            (outputs if _is_tensor(outputs) else outputs[0]).copy_(tensor)
        return Work(output_tensors)

    gather = allgather_coalesced = allgather

    def scatter(self, output_tensors: Any, input_tensors: Any, *_: Any, **__: Any) -> Work:
        """Copies the only part of each input into its output."""
        for output, parts in zip(_listed(output_tensors), input_tensors, strict=True):
            output.copy_(parts if _is_tensor(parts) else parts[0])
        return Work(_listed(output_tensors))

    reduce_scatter = scatter

    def alltoall(self, output_tensors: Any, input_tensors: Any, *_: Any, **__: Any) -> Work:
        """Copies each input into its output."""
        for output, part in zip(output_tensors, input_tensors, strict=True):
            output.copy_(part)
        return Work(output_tensors)

    allgather_into_tensor_coalesced = reduce_scatter_tensor_coalesced = alltoall

    def _allgather_base(self, output: Any, input: Any, *_: Any, **__: Any) -> Work:
        output.copy_(input.reshape(output.shape))
        return Work([output])

    _reduce_scatter_base = alltoall_base = all_gather_single = reduce_scatter_single = all_to_all_single = (
        _allgather_base
    )


def _is_tensor(value: Any) -> bool:
    from shim_torch._impl.native import _core

    return isinstance(value, _core.Tensor)


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if _is_tensor(tensors) else list(tensors)


class GradBucket:
    """Gradients that DistributedDataParallel reduces together, as it hands them to communication hooks; none are made here."""

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

    @property
    def default_pg(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @default_pg.setter
    def default_pg(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value

    def add(self, group: ProcessGroup) -> ProcessGroup:
        self.pg_map[group] = (group._backend, group._store)
        self.pg_names[group], self.pg_group_ranks[group] = group.group_name, {0: 0}
        self.pg_backend_config[group] = config(group._backend)
        return group

    def remove(self, group: ProcessGroup) -> None:
        for table in (self.pg_map, self.pg_names, self.pg_group_ranks, self.pg_backend_config):
            table.pop(group, None)

    def clear(self) -> None:
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
