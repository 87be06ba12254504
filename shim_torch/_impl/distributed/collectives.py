"""Collectives of tensors. The arguments are checked as PyTorch's gloo backend checks them, before anything is sent."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.checks import (
    check_reduction,
    check_shapes,
    check_transported,
    check_whole,
    found,
    one_tensor,
    outside,
    root_of,
    same_dtype,
    several_tensors,
)
from shim_torch._impl.distributed.engine import Act, flat_parts, start
from shim_torch._impl.distributed.exchanges import all_to_all as all_to_all
from shim_torch._impl.distributed.exchanges import all_to_all_single as all_to_all_single
from shim_torch._impl.distributed.on_devices import on_device
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
    if on_device(group, tensor):
        return on_devices.one(group, "all_reduce", Act.ALL_REDUCE, number, _factor(op), None, tensor, async_op)
    return start(
        group, "all_reduce", Act.ALL_REDUCE, op=number, output=tensor, results=[tensor], async_op=async_op, factor=_factor(op)
    )  # fmt: skip


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same of several tensors at once."""
    tensors = [tensors] if isinstance(tensors, _core.Tensor) else several_tensors(tensors, "tensor")
    if outside(group, "all_reduce_coalesced"):
        return None
    group = found(group)
    same_dtype(*tensors, complex_too=True)
    number = [check_reduction(op, tensor, "all_reduce_coalesced", group) for tensor in tensors][0]
    if on_device(group, tensors[0]):
        return on_devices.start(
            group, "all_reduce_coalesced", Act.ALL_REDUCE, op=number, factor=_factor(op), outputs=tensors, results=tensors,
            async_op=async_op,
        )  # fmt: skip
    same = _of_one_dtype(tensors)
    whole, parts = flat_parts(same, filled=True)
    copies = list(zip(parts, same, strict=True)) if group.size() > 1 else None
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
        group, "reduce", Act.REDUCE, op=number, output=tensor, root=root, results=[tensor], async_op=async_op,
        factor=_factor(op),
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
    if group._engine is None and group._device_engine is not None:
        return on_devices.barrier(group, device_ids, async_op)
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
    if on_device(group, tensor):
        return _gathered_on_device(outputs, tensor, group, async_op)
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


def _gathered_on_device(outputs: list[Any], tensor: Any, group: Any, async_op: bool) -> Work | None:
    """Of any sizes."""
    if len(outputs) != group.size():
        raise ValueError("Tensor list output to all_gather must have one tensor for each rank")
    if outputs[group.rank()].numel() != tensor.numel():
        raise ValueError("all_gather: the output for this rank has another size than its input")
    return on_devices.start(
        group, "all_gather", Act.ALL_GATHER, inputs=tensor, outputs=outputs, results=outputs, async_op=async_op
    )


def _factor(op: Any) -> Any:
    """Of a premultiplied sum; None of others."""
    return getattr(op, "factor", None)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same of several tensors at once: the output has a list for each process, of what that process gives."""
    inputs = _listed_tensors(input_tensor_list, "input_tensor_list")
    if outside(group, "all_gather_coalesced"):
        return None
    group = found(group)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        _listed_tensors(outputs, "output_tensor_lists")
    tensors = [*inputs, *(t for outputs in output_tensor_lists for t in outputs)]
    if tensors:
        same_dtype(*tensors, complex_too=True)
    _check_coalesced(output_tensor_lists, inputs, group)
    works = [
        all_gather(list(outputs), x, group, True) for *outputs, x in zip(*output_tensor_lists, inputs, strict=True)
    ]
    return _last(works, output_tensor_lists, async_op)


def _listed_tensors(tensors: Any, name: str) -> list[Any]:
    """A list's; TypeError, naming the parameter, for what is no list or holds other things."""
    if isinstance(tensors, tuple):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead."
        )
    return several_tensors(tensors, name)


def _check_coalesced(lists: list[list[Any]], inputs: list[Any], group: Any) -> None:
    function = "ProcessGroupGloo::allgather_coalesced"
    if len(lists) != group.size():
        raise RuntimeError(f"{function}: output lists should be equal to world size")
    for outputs in lists:
        if len(outputs) != len(inputs):
            raise RuntimeError(f"{function}: invalid output size: (expected length {len(inputs)}, got {len(outputs)})")
        for index, (output, tensor) in enumerate(zip(outputs, inputs, strict=True)):
            if output.shape != tensor.shape:
                expected, got = (f"({', '.join(map(str, t.shape))})" for t in (tensor, output))
                raise RuntimeError(
                    f"{function}: invalid size of output tensor at index {index} (expected length {expected}, got {got})"
                )


def _of_one_dtype(tensors: list[Any]) -> list[Any]:
    """The tensors; where real and complex ones are mixed, these as pairs of real numbers."""
    import shim_torch as torch

    if len({t.dtype for t in tensors}) == 1:
        return tensors
    return [torch.view_as_real(t.detach()) if t.is_complex() else t for t in tensors]


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
    check_whole(
        output_tensor, input_tensor, group, "output tensor size must be equal to world_size times input tensor size"
    )
    if on_device(group, output_tensor):
        return on_devices.one(
            group, "all_gather_into_tensor", Act.ALL_GATHER, 0, None, input_tensor, output_tensor, async_op
        )
    check_transported(group, input_tensor)
    return start(
        group, "all_gather_into_tensor", Act.ALL_GATHER, input=input_tensor, output=output_tensor,
        results=[output_tensor], async_op=async_op,
    )  # fmt: skip


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
    if on_device(group, output) and any(x.shape != output.shape for x in inputs):
        return on_devices.start(
            group, "reduce_scatter", Act.REDUCE_SCATTER, op=number, factor=_factor(op), inputs=inputs, outputs=output,
            results=[output], async_op=async_op,
        )  # fmt: skip
    whole, _ = flat_parts(inputs, filled=True)
    return start(
        group, "reduce_scatter", Act.REDUCE_SCATTER, op=number, input=whole, output=output,
        input_counts=[t.numel() for t in inputs], results=[output], async_op=async_op, factor=_factor(op),
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
    check_whole(input, output, group, "input tensor must be the same size as output size times world size")
    if on_device(group, output):
        return on_devices.one(
            group, "reduce_scatter_tensor", Act.REDUCE_SCATTER, number, _factor(op), input, output, async_op
        )
    return start(
        group, "reduce_scatter_tensor", Act.REDUCE_SCATTER, op=number, input=input, output=output, results=[output],
        async_op=async_op, factor=_factor(op),
    )  # fmt: skip


all_gather_single = _all_gather_base = all_gather_into_tensor
reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor

naming.present(globals(), "torch.distributed.distributed_c10d")
