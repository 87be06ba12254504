"""Collectives of tensors. The arguments are checked as PyTorch's gloo backend checks them, before anything is sent."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed.checks import (
    check_reduction,
    check_shapes,
    check_transported,
    found,
    one_tensor,
    outside,
    root_of,
    same_dtype,
    several_tensors,
)
from shim_torch._impl.distributed.engine import Act, flat_parts, start
from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

__all__: list[str] = []


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The reduction of all processes' tensors, in each."""
    one_tensor(tensor, "tensor")
    if outside(group, "all_reduce"):
        return None
    group = found(group)
    number = check_reduction(op, tensor, "all_reduce", group)
    return start(group, "all_reduce", Act.ALL_REDUCE, op=number, output=tensor, results=[tensor], async_op=async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same of several tensors at once."""
    tensors = [tensors] if isinstance(tensors, _core.Tensor) else several_tensors(tensors, "tensor")
    if outside(group, "all_reduce_coalesced"):
        return None
    group = found(group)
    same_dtype(*tensors)
    number = check_reduction(op, tensors[0], "all_reduce_coalesced", group)
    whole, parts = flat_parts(tensors, filled=True)
    copies = list(zip(parts, tensors, strict=True)) if group.size() > 1 else None
    return start(
        group, "all_reduce_coalesced", Act.ALL_REDUCE, op=number, output=whole, copies=copies, results=tensors,
        async_op=async_op,
    )  # fmt: skip


def reduce(
    tensor: Any, dst: Any = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: Any = None
) -> Work | None:  # fmt: skip
    """The reduction of all processes' tensors, in that of one."""
    one_tensor(tensor, "tensor")
    if outside(group, "reduce"):
        return None
    group = found(group)
    root = root_of(group, dst, group_dst, "reduce")
    number = check_reduction(op, tensor, "reduce", group)
    return start(
        group, "reduce", Act.REDUCE, op=number, output=tensor, root=root, results=[tensor], async_op=async_op
    )  # fmt: skip


def broadcast(
    tensor: Any, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None
) -> Work | None:
    """One process's tensor, in each."""
    one_tensor(tensor, "tensor")
    if outside(group, "broadcast"):
        return None
    group = found(group)
    root = root_of(group, src, group_src, "broadcast")
    check_transported(group, tensor)
    return start(group, "broadcast", Act.BROADCAST, output=tensor, root=root, results=[tensor], async_op=async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for all processes. Errors: TypeError for device_ids that are no list."""
    if outside(group, "barrier"):
        return None
    group = found(group)
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    return start(group, "barrier", Act.BARRIER, async_op=async_op)


def _check_gathered(outputs: list[Any], tensor: Any, group: Any) -> None:
    if len(outputs) != group.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
            f"(expected length {group.size()}, got {len(outputs)})"
        )
    check_shapes(outputs, tensor, "allgather")
    check_transported(group, tensor)


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all processes, in a list."""
    outputs = several_tensors(tensor_list, "tensor_list")
    one_tensor(tensor, "tensor")
    same_dtype(*outputs, tensor)
    if outside(group, "all_gather"):
        return None
    group = found(group)
    _check_gathered(outputs, tensor, group)
    if group.size() == 1:
        return start(
            group,
            "all_gather",
            Act.ALL_GATHER,
            copies=[(tensor.detach(), outputs[0])],
            results=outputs,
            async_op=async_op,
        )
    whole, parts = flat_parts(outputs, filled=False)
    copies = list(zip(parts, outputs, strict=True))
    return start(
        group, "all_gather", Act.ALL_GATHER, input=tensor, output=whole, copies=copies, results=outputs, async_op=async_op
    )  # fmt: skip


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same of several tensors."""
    inputs = several_tensors(input_tensor_list, "input_tensor_list")
    if outside(group, "all_gather_coalesced"):
        return None
    group = found(group)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    works = [all_gather(outputs, x, group, True) for outputs, x in zip(output_tensor_lists, inputs, strict=True)]
    return _last(works, output_tensor_lists, async_op)


def _last(works: list[Any], results: Any, async_op: bool) -> Work | None:
    """The works of one group end in order: the last one for all, its tensors included."""
    from shim_torch._impl.distributed.point_to_point import _Works

    joined = _Works(works, results)
    return joined if async_op else (joined.wait(), None)[1]


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """The tensors of all processes, one behind the other in the first dimension or stacked in a new one."""
    one_tensor(output_tensor, "output_tensor")
    one_tensor(input_tensor, "input_tensor")
    if outside(group, "all_gather_into_tensor"):
        return None
    group = found(group)
    _check_whole(output_tensor, input_tensor, group)
    check_transported(group, input_tensor)
    return start(
        group, "all_gather_into_tensor", Act.ALL_GATHER, input=input_tensor, output=output_tensor,
        results=[output_tensor], async_op=async_op,
    )  # fmt: skip


def _check_whole(whole: Any, part: Any, group: Any) -> None:
    if whole.dtype != part.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if whole.numel() != part.numel() * group.size():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """The reduction of the processes' lists: to each process the tensor at its place."""
    one_tensor(output, "output")
    inputs = several_tensors(input_list, "input_list")
    same_dtype(output, *inputs)
    if outside(group, "reduce_scatter"):
        return None
    group = found(group)
    number = check_reduction(op, output, "reduce_scatter", group)
    if len(inputs) != group.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    if inputs[group.rank()].shape != output.shape:
        raise RuntimeError("reduce_scatter: the output has another shape than the input of this rank")
    whole, _ = flat_parts(inputs, filled=True)
    return start(
        group, "reduce_scatter", Act.REDUCE_SCATTER, op=number, input=whole, output=output,
        input_counts=[t.numel() for t in inputs], results=[output], async_op=async_op,
    )  # fmt: skip


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """The reduction of the processes' inputs: to each process the part at its place."""
    one_tensor(output, "output")
    one_tensor(input, "input")
    if outside(group, "reduce_scatter_tensor"):
        return None
    group = found(group)
    number = check_reduction(op, output, "reduce_scatter_tensor", group)
    if output.dtype != input.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if input.numel() != output.numel() * group.size():
        raise ValueError("input tensor must be the same size as output size times world size")
    return start(
        group, "reduce_scatter_tensor", Act.REDUCE_SCATTER, op=number, input=input, output=output, results=[output],
        async_op=async_op,
    )  # fmt: skip


def _counts(sizes: Any, tensor: Any, group: Any) -> list[int] | None:
    """Elements for each rank, of rows for each rank. Errors: RuntimeError for rows that are not the whole."""
    rows = tensor.shape[0] if tensor.dim() else 0
    if not sizes:
        if rows % group.size():
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return None
    if len(sizes) != group.size():
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = tensor.numel() // rows if rows else 0
    return [int(size) * row for size in sizes]


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None,
    async_op: bool = False,
) -> Any:  # fmt: skip
    """Rows of the first dimension for and from each process. Errors: RuntimeError for numbers of rows that are not the whole."""
    one_tensor(output, "output")
    one_tensor(input, "input")
    if outside(group, "all_to_all_single"):
        return None
    group = found(group)
    same_dtype(output, input)
    counts = [_counts(*given, group) for given in ((output_split_sizes, output), (input_split_sizes, input))]
    return start(
        group, "all_to_all_single", Act.ALL_TO_ALL, input=input, output=output, input_counts=counts[1],
        output_counts=counts[0], results=[output], async_op=async_op,
    )  # fmt: skip


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """A tensor for and from each process; their sizes may differ."""
    outputs = several_tensors(output_tensor_list, "output_tensor_list")
    inputs = several_tensors(input_tensor_list, "input_tensor_list")
    if outside(group, "all_to_all"):
        return None
    group = found(group)
    same_dtype(*outputs, *inputs)
    for kind, tensors in (("output", outputs), ("input", inputs)):
        if len(tensors) != group.size():
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {kind} tensor list size {len(tensors)} does not match world size "
                f"{group.size()}"
            )
    sent, _ = flat_parts(inputs, filled=True)
    whole, parts = flat_parts(outputs, filled=False)
    return start(
        group, "all_to_all", Act.ALL_TO_ALL, input=sent, output=whole, input_counts=[t.numel() for t in inputs],
        output_counts=[t.numel() for t in outputs], copies=list(zip(parts, outputs, strict=True)), results=outputs,
        async_op=async_op,
    )  # fmt: skip


all_gather_single = _all_gather_base = all_gather_into_tensor
reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor

naming.present(globals(), "torch.distributed.distributed_c10d")
