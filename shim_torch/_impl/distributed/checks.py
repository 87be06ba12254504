"""What the collectives ask of their arguments and groups, as PyTorch's gloo backend does."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.groups import GroupMember, ProcessGroup
from shim_torch._impl.distributed.reductions import PremulSum, RedOpType, ReduceOp
from shim_torch._impl.native import _core


def found(group: Any = None) -> ProcessGroup:
    """The group that is meant. Errors: ValueError before ``init_process_group``."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if isinstance(group, int):
        raise ValueError(
            f"Process group {group} is not initialized in the world group map. Please initialize the group first."
        )
    return group or GroupMember.WORLD


def one_tensor(tensor: Any, name: str) -> Any:
    """``tensor`` itself; TypeError, naming the parameter, if it is none."""
    if not isinstance(tensor, _core.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    return tensor


def several_tensors(tensors: Any, name: str) -> list[Any]:
    """The tensors of a list or tuple as a list; TypeError, naming the parameter, for anything else."""
    text = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got "
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{text}{type(tensors)} instead.")
    if not all(isinstance(t, _core.Tensor) for t in tensors):
        raise TypeError(f"{text}{type(tensors)} with elements of type {[type(t) for t in tensors]}.")
    return list(tensors)


def same_dtype(*tensors: Any, complex_too: bool = False) -> None:
    """ValueError unless all tensors have one dtype; with ``complex_too`` complex64 passes for float32, as in PyTorch."""
    first = tensors[0].dtype
    for tensor in tensors:
        names = {_core.scalar_name(first), _core.scalar_name(tensor.dtype)}
        if len(names) > 1 and not (complex_too and names == {"Float", "ComplexFloat"}):
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {tensor.dtype}")


def outside(group: Any, function: str) -> bool:
    """Whether this process is no member of the group; says so where it asks for a collective."""
    if group is None or group != GroupMember.NON_GROUP_MEMBER:
        return False
    rank = -1 if GroupMember.WORLD is None else GroupMember.WORLD.rank()
    warnings.warn(f"Running {function} on global rank {rank} which does not belong to the given group.", stacklevel=3)
    return True


def root_of(group: ProcessGroup, rank: Any, group_rank: Any, function: str, default: int | None = None) -> int:
    """The rank in the group of the process that is named by its rank in the whole or in the group.

    Errors: ValueError where both are given, or neither; RuntimeError for a rank that is none.
    """
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None:
        rank = default if rank is None else rank
        if rank is None:
            raise ValueError("Must specify global_rank or group_rank")
        from shim_torch._impl.distributed.ranks import get_group_rank

        group_rank = get_group_rank(group, rank)
    if not 0 <= group_rank < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{function}: invalid root rank: {group_rank}")
    return int(group_rank)


_ONLY_COPIED = (
    "Short",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float8_e5m2",
    "Float8_e4m3fn",
    "Float8_e5m2fnuz",
    "Float8_e4m3fnuz",
)


def check_transported(group: ProcessGroup, *tensors: Any) -> None:
    """RuntimeError for a dtype that PyTorch's gloo has no collectives of."""
    if group.size() > 1:
        for tensor in tensors:
            if not tensor.is_cuda and _core.scalar_name(tensor.dtype) in _ONLY_COPIED:
                raise RuntimeError("Invalid scalar type")


def check_reduction(op: Any, tensor: Any, function: str, group: ProcessGroup | None = None) -> int:
    """The number of a reduction.

    Errors: TypeError for what is no ``ReduceOp``, ValueError (RuntimeError of other functions than all_reduce on a CPU) for one
    that complex tensors are refused for, RuntimeError for one that the dtype is.
    """
    if op is RedOpType.SUM and tensor.is_cuda and group is not None and group._device_engine is not None:
        return 0  # what is called most
    if isinstance(op, PremulSum):
        op = ReduceOp.PREMUL_SUM
    if not isinstance(op, RedOpType):
        raise TypeError(f"(): incompatible function arguments. Expected a torch.distributed.ReduceOp, got {op!r}")
    bits = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    if tensor.is_complex() and (bits or op in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)):
        # PyTorch tests all_reduce's before its backends see it, and gloo the others'.
        kind = ValueError if function.startswith("all_reduce") or tensor.is_cuda else RuntimeError
        name = "all_reduce" if function == "all_reduce_coalesced" else function
        raise kind(f"{name} does not support {op.__class__.__name__}.{op.name} on complex tensors")
    if group is None or group.size() == 1:
        return int(op)
    if tensor.is_cuda and group._device_engine is not None:
        on_devices.check_reduction(op, tensor)
        return int(op)
    if op == ReduceOp.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    check_transported(group, tensor)
    if bits and tensor.is_floating_point():
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op == ReduceOp.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        name = _core.scalar_name(tensor.dtype)
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")
    return int(op)


def check_whole(whole: Any, part: Any, group: ProcessGroup, text: str) -> None:
    """That a tensor has the place of all processes' parts. Errors: TypeError, ValueError; RuntimeError both from gloo."""
    gloo = group.size() > 1 and not part.is_cuda
    if whole.dtype != part.dtype:
        raise (RuntimeError if gloo else TypeError)("output tensor must have the same type as input tensor")
    if whole.numel() != part.numel() * group.size():
        raise (RuntimeError if gloo else ValueError)(text)


def check_shapes(tensors: Any, like: Any, function: str) -> None:
    """RuntimeError unless all tensors have one's shape."""
    for index, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            expected, got = (f"({', '.join(map(str, t.shape))})" for t in (like, tensor))
            raise RuntimeError(
                f"ProcessGroupGloo::{function}: invalid tensor size at index {index} (expected {expected}, got {got})"
            )


def one_process_only(what: str, group: Any = None) -> None:
    """NotImplementedError for a group of several processes, where what is named has been written for one."""
    if GroupMember.WORLD is not None and group != GroupMember.NON_GROUP_MEMBER and found(group).size() > 1:
        raise NotImplementedError(f"{what} in a group of several processes is not supported by shim-torch")
