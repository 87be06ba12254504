"""What the collectives ask of their arguments and groups, as PyTorch's gloo backend does."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.collectives.groups import GroupMember, ProcessGroup, RedOpType, ReduceOp, Work
from shim_torch._impl.native import _core


def unsupported(function: str, what: str) -> NotImplementedError:
    """The error of what needs a second process."""
    return NotImplementedError(
        f"torch.distributed.{function}: {what}; shim-torch supports groups of one process (world_size=1) only"
    )


def found(group: Any = None) -> ProcessGroup:
    """The group that is meant. Errors: ValueError before ``init_process_group``."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
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


def same_dtype(*tensors: Any) -> None:
    """ValueError unless all tensors have one dtype."""
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype != first:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {tensor.dtype}")


def check_root(rank: Any, group_rank: Any, function: str, default: int | None = None) -> None:
    """Checks the rank of the one process that sends or receives."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    rank = default if rank is None and group_rank is None else rank if group_rank is None else group_rank
    if rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if rank != 0:
        raise RuntimeError(f"ProcessGroupGloo::{function}: invalid root rank: {rank}")


def check_reduction(op: Any, tensor: Any, function: str) -> None:
    """TypeError for what is no ``ReduceOp``; ValueError for one that complex tensors are refused for."""
    if not isinstance(op, RedOpType):
        raise TypeError(f"(): incompatible function arguments. Expected a torch.distributed.ReduceOp, got {op!r}")
    if tensor.is_complex() and op in (
        ReduceOp.MAX,
        ReduceOp.MIN,
        ReduceOp.PRODUCT,
        ReduceOp.BAND,
        ReduceOp.BOR,
        ReduceOp.BXOR,
    ):
        raise ValueError(f"{function} does not support {op.__class__.__name__}.{op.name} on complex tensors")


def work(async_op: bool, *tensors: Any) -> Work | None:
    """The finished work of a collective that wrote to ``tensors`` if it was asynchronous, else None."""
    return Work(tensors) if async_op else None
