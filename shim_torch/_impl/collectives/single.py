"""Collectives of one process: each is the identity or a copy, which is what PyTorch computes there too.

The arguments are checked as PyTorch's gloo backend checks them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.collectives.groups import GroupMember, ProcessGroup, RedOpType, ReduceOp, Work
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

__all__: list[str] = []


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


def _single(tensor: Any, name: str) -> Any:
    if not isinstance(tensor, _core.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    return tensor


def _many(tensors: Any, name: str) -> list[Any]:
    text = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got "
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{text}{type(tensors)} instead.")
    if not all(isinstance(t, _core.Tensor) for t in tensors):
        raise TypeError(f"{text}{type(tensors)} with elements of type {[type(t) for t in tensors]}.")
    return list(tensors)


def _same_dtype(*tensors: Any) -> None:
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype != first:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {tensor.dtype}")


def _root(rank: Any, group_rank: Any, function: str, default: int | None = None) -> None:
    """Checks the rank of the one process that sends or receives."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    rank = default if rank is None and group_rank is None else rank if group_rank is None else group_rank
    if rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if rank != 0:
        raise RuntimeError(f"ProcessGroupGloo::{function}: invalid root rank: {rank}")


def _reduction(op: Any, tensor: Any, function: str) -> None:
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


def _work(async_op: bool, *tensors: Any) -> Work | None:
    return Work(tensors) if async_op else None


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Leaves tensor as it is: the sum over one process."""
    _single(tensor, "tensor")
    found(group)
    _reduction(op, tensor, "all_reduce")
    return _work(async_op, tensor)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Leaves all tensors as they are."""
    tensors = [tensors] if isinstance(tensors, _core.Tensor) else _many(tensors, "tensor")
    found(group)
    _same_dtype(*tensors)
    return _work(async_op, *tensors)


def reduce(
    tensor: Any,
    dst: Any = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    """Leaves tensor as it is: the sum over one process."""
    _single(tensor, "tensor")
    found(group)
    _root(dst, group_dst, "reduce")
    _reduction(op, tensor, "reduce")
    return _work(async_op, tensor)


def broadcast(
    tensor: Any, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    """Leaves tensor as it is."""
    _single(tensor, "tensor")
    found(group)
    _root(src, group_src, "broadcast")
    return _work(async_op, tensor)


def broadcast_object_list(
    object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
) -> None:
    """Leaves the objects as they are."""
    found(group)
    _root(src, group_src, "broadcast", 0)
    iter(object_list)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for nobody. Errors: TypeError for device_ids that are no list."""
    found(group)
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    return _work(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Waits for nobody. Errors: ValueError for another backend than gloo."""
    if found(group)._backend != "gloo":
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")


def _gathered(outputs: list[Any], tensor: Any, function: str) -> None:
    if len(outputs) != 1:
        raise RuntimeError(
            f"ProcessGroupGloo::{function}: invalid output tensor list at index 0 (expected length 1, got {len(outputs)})"
        )
    if outputs[0].shape != tensor.shape:
        expected, got = (f"({', '.join(map(str, t.shape))})" for t in (tensor, outputs[0]))
        raise RuntimeError(
            f"ProcessGroupGloo::{function}: invalid tensor size at index 0 (expected {expected}, got {got})"
        )
    outputs[0].detach().copy_(tensor.detach())


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies tensor into tensor_list[0]."""
    outputs = _many(tensor_list, "tensor_list")
    _single(tensor, "tensor")
    _same_dtype(*outputs, tensor)
    found(group)
    _gathered(outputs, tensor, "allgather")
    return _work(async_op, *outputs)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies each tensor into the list of its own."""
    inputs = _many(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs, tensor in zip(output_tensor_lists, inputs, strict=True):
        all_gather(outputs, tensor, group)
    return _work(async_op, *output_tensor_lists)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts obj into object_list[0]."""
    found(group)
    object_list[0] = obj


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Copies input_tensor into output_tensor, which has as many elements (PyTorch's NCCL takes other shapes, too)."""
    return _whole(output_tensor, input_tensor, group, async_op, ("output_tensor", "input_tensor"))


def _whole(output: Any, input: Any, group: Any, async_op: bool, names: tuple[str, str]) -> Work | None:
    _single(output, names[0])
    _single(input, names[1])
    found(group)
    if output.dtype != input.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if output.numel() != input.numel():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    output.detach().copy_(input.detach().reshape(output.shape))
    return _work(async_op, output)


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies input_list[0] into output."""
    _single(output, "output")
    inputs = _many(input_list, "input_list")
    _same_dtype(output, *inputs)
    found(group)
    _reduction(op, output, "reduce_scatter")
    if len(inputs) != 1:
        raise RuntimeError("invalid input tensor list size, must be world size")
    output.detach().copy_(inputs[0].detach())
    return _work(async_op, output)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies input into output, which has as many elements."""
    _reduction(op, _single(output, "output"), "reduce_scatter_tensor")
    return _whole(output, input, group, async_op, ("output", "input"))


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Copies input into output. Errors: RuntimeError for sizes of parts that are not the whole."""
    _single(output, "output")
    _single(input, "input")
    _same_dtype(output, input)
    found(group)
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes is not None and (len(sizes) != 1 or sizes[0] != tensor.shape[0]):
            raise RuntimeError(
                "Split sizes doesn't match total dim 0 size" if len(sizes) == 1
                else "Number of tensor splits not equal to group size"
            )  # fmt: skip
    output.detach().copy_(input.detach())
    return _work(async_op, output)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """A part from and for every process: a copy."""
    outputs, inputs = _many(output_tensor_list, "output_tensor_list"), _many(input_tensor_list, "input_tensor_list")
    _same_dtype(*outputs, *inputs)
    found(group)
    for kind, tensors in (("output", outputs), ("input", inputs)):
        if len(tensors) != 1:
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {kind} tensor list size {len(tensors)} does not match world size 1"
            )
    outputs[0].detach().copy_(inputs[0].detach())
    return _work(async_op, *outputs)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    """The tensors of the group, in a list: this process's, copied."""
    _single(tensor, "tensor")
    outputs = _many(gather_list, "gather_list") if gather_list else []
    found(group)
    if (dst if group_dst is None else group_dst) not in (None, 0):
        if gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        raise RuntimeError(f"ProcessGroupGloo::gather: invalid root rank: {dst if group_dst is None else group_dst}")
    if not outputs:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _same_dtype(tensor, *outputs)
    _gathered(outputs, tensor, "gather")
    return _work(async_op, *outputs)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """The objects of the group, in a list: this process's."""
    found(group)
    _root(dst, group_dst, "gather", 0)
    if not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    object_gather_list[0] = obj


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_src: Any = None,
) -> Work | None:
    """The tensor that is meant for this process, the first of the list, copied into ``tensor``."""
    _single(tensor, "tensor")
    parts = _many(scatter_list, "scatter_list") if scatter_list else []
    found(group)
    _root(src, group_src, "scatter", 0)
    if not parts:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _one_part(parts)
    _same_dtype(tensor, *parts)
    tensor.detach().copy_(parts[0].detach())
    return _work(async_op, tensor)


def _one_part(parts: Any) -> None:
    if len(parts) != 1:
        raise RuntimeError(
            f"ProcessGroupGloo::scatter: Incorrect input list size {len(parts)}. Input list size should be 1, same as size "
            "of the process group."
        )


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: Any = None,
    group: Any = None,
    group_src: Any = None,
) -> None:
    """The object that is meant for this process, the first one."""
    found(group)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    _one_part(scatter_object_input_list)
    scatter_object_output_list[0] = scatter_object_input_list[0]


def _transfer(function: str, kind: str, role: str) -> Any:
    def transfer(tensor: Any = None, peer: Any = None, group: Any = None, *args: Any, **kwargs: Any) -> Any:
        found(group)
        given = [kwargs.get(k) for k in ("src", "dst", "group_src", "group_dst")]
        if 0 in [peer, *[g for g in given if g is not None]]:
            raise ValueError(
                f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process."
            )
        raise unsupported(function, "there is no other process")

    transfer.__name__ = transfer.__qualname__ = function
    transfer.__doc__ = (
        f"A message {role} another process, of which there is none: ValueError for this one, else NotImplementedError."
    )
    return transfer


send, isend, send_object_list = (_transfer(n, "destination", "to") for n in ("send", "isend", "send_object_list"))
recv, irecv, recv_object_list = (_transfer(n, "source", "of") for n in ("recv", "irecv", "recv_object_list"))


class P2POp:
    """A message for :func:`batch_isend_irecv`. Errors: ValueError for another ``op`` than isend and irecv."""

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.group, self.tag = op, _single(tensor, "tensor"), found(group), tag
        self.peer = self.group_peer = peer if group_peer is None else group_peer


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Messages of this process to itself: the receivers get copies, in order. Errors: NotImplementedError for other peers."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    sent, received = ([op for op in p2p_op_list if op.op is kind] for kind in (isend, irecv))
    if any(op.peer != 0 for op in p2p_op_list) or len(sent) != len(received):
        raise unsupported("batch_isend_irecv", "there is no other process")
    for source, target in zip(sent, received, strict=True):
        target.tensor.detach().copy_(source.tensor.detach())
    return [Work([op.tensor]) for op in p2p_op_list]


class _CoalescingManager:
    """The collectives of one ``with _coalescing_manager()``, which are done when they are called."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        self.works.extend([work] if work is not None else [])

    def wait(self) -> None:
        """All of them are done."""


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    found(group)
    yield _CoalescingManager()


all_gather_single = _all_gather_base = all_gather_into_tensor
reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor

naming.present(globals(), "torch.distributed.distributed_c10d")
