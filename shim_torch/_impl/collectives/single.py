"""Collectives of one process: each is the identity or a copy, which is what PyTorch computes there too.

The arguments are checked as PyTorch's gloo backend checks them.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.collectives.checks import (
    check_reduction,
    check_root,
    found,
    one_tensor,
    same_dtype,
    several_tensors,
    work,
)
from shim_torch._impl.collectives.groups import ReduceOp, Work
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

__all__: list[str] = []


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Leaves tensor as it is: the sum over one process."""
    one_tensor(tensor, "tensor")
    found(group)
    check_reduction(op, tensor, "all_reduce")
    return work(async_op, tensor)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Leaves all tensors as they are."""
    tensors = [tensors] if isinstance(tensors, _core.Tensor) else several_tensors(tensors, "tensor")
    found(group)
    same_dtype(*tensors)
    return work(async_op, *tensors)


def reduce(
    tensor: Any,
    dst: Any = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    """Leaves tensor as it is: the sum over one process."""
    one_tensor(tensor, "tensor")
    found(group)
    check_root(dst, group_dst, "reduce")
    check_reduction(op, tensor, "reduce")
    return work(async_op, tensor)


def broadcast(
    tensor: Any, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    """Leaves tensor as it is."""
    one_tensor(tensor, "tensor")
    found(group)
    check_root(src, group_src, "broadcast")
    return work(async_op, tensor)


def broadcast_object_list(
    object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
) -> None:
    """Leaves the objects as they are."""
    found(group)
    check_root(src, group_src, "broadcast", 0)
    iter(object_list)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for nobody. Errors: TypeError for device_ids that are no list."""
    found(group)
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    return work(async_op)


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
    outputs = several_tensors(tensor_list, "tensor_list")
    one_tensor(tensor, "tensor")
    same_dtype(*outputs, tensor)
    found(group)
    _gathered(outputs, tensor, "allgather")
    return work(async_op, *outputs)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies each tensor into the list of its own."""
    inputs = several_tensors(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs, tensor in zip(output_tensor_lists, inputs, strict=True):
        all_gather(outputs, tensor, group)
    return work(async_op, *output_tensor_lists)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts obj into object_list[0]."""
    found(group)
    object_list[0] = obj


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Copies input_tensor into output_tensor, which has as many elements (PyTorch's NCCL takes other shapes, too)."""
    return _whole(output_tensor, input_tensor, group, async_op, ("output_tensor", "input_tensor"))


def _whole(output: Any, input: Any, group: Any, async_op: bool, names: tuple[str, str]) -> Work | None:
    one_tensor(output, names[0])
    one_tensor(input, names[1])
    found(group)
    if output.dtype != input.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if output.numel() != input.numel():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    output.detach().copy_(input.detach().reshape(output.shape))
    return work(async_op, output)


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies input_list[0] into output."""
    one_tensor(output, "output")
    inputs = several_tensors(input_list, "input_list")
    same_dtype(output, *inputs)
    found(group)
    check_reduction(op, output, "reduce_scatter")
    if len(inputs) != 1:
        raise RuntimeError("invalid input tensor list size, must be world size")
    output.detach().copy_(inputs[0].detach())
    return work(async_op, output)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies input into output, which has as many elements."""
    check_reduction(op, one_tensor(output, "output"), "reduce_scatter_tensor")
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
    one_tensor(output, "output")
    one_tensor(input, "input")
    same_dtype(output, input)
    found(group)
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes is not None and (len(sizes) != 1 or sizes[0] != tensor.shape[0]):
            raise RuntimeError(
                "Split sizes doesn't match total dim 0 size" if len(sizes) == 1
                else "Number of tensor splits not equal to group size"
            )  # fmt: skip
    output.detach().copy_(input.detach())
    return work(async_op, output)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """A part from and for every process: a copy."""
    outputs, inputs = (
        several_tensors(output_tensor_list, "output_tensor_list"),
        several_tensors(input_tensor_list, "input_tensor_list"),
    )
    same_dtype(*outputs, *inputs)
    found(group)
    for kind, tensors in (("output", outputs), ("input", inputs)):
        if len(tensors) != 1:
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {kind} tensor list size {len(tensors)} does not match world size 1"
            )
    outputs[0].detach().copy_(inputs[0].detach())
    return work(async_op, *outputs)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    """The tensors of the group, in a list: this process's, copied."""
    one_tensor(tensor, "tensor")
    outputs = several_tensors(gather_list, "gather_list") if gather_list else []
    found(group)
    if (dst if group_dst is None else group_dst) not in (None, 0):
        if gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        raise RuntimeError(f"ProcessGroupGloo::gather: invalid root rank: {dst if group_dst is None else group_dst}")
    if not outputs:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    same_dtype(tensor, *outputs)
    _gathered(outputs, tensor, "gather")
    return work(async_op, *outputs)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """The objects of the group, in a list: this process's."""
    found(group)
    check_root(dst, group_dst, "gather", 0)
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
    one_tensor(tensor, "tensor")
    parts = several_tensors(scatter_list, "scatter_list") if scatter_list else []
    found(group)
    check_root(src, group_src, "scatter", 0)
    if not parts:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _one_part(parts)
    same_dtype(tensor, *parts)
    tensor.detach().copy_(parts[0].detach())
    return work(async_op, tensor)


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


all_gather_single = _all_gather_base = all_gather_into_tensor
reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor

naming.present(globals(), "torch.distributed.distributed_c10d")
