"""Collectives in which each process has something for each."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.checks import found, one_tensor, outside, same_dtype, several_tensors
from shim_torch._impl.distributed.engine import Act, flat_parts, start
from shim_torch._impl.distributed.on_devices import on_device
from shim_torch._impl.distributed.work import Work
from shim_torch._impl.surface import naming

__all__: list[str] = []


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
    if counts == [None, None] and on_device(group, output):
        return on_devices.one(group, "all_to_all_single", Act.ALL_TO_ALL, 0, None, input, output, async_op)
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
    if on_device(group, outputs[0]):
        return on_devices.start(
            group, "all_to_all", Act.ALL_TO_ALL, inputs=inputs, outputs=outputs, results=outputs, async_op=async_op
        )
    sent, _ = flat_parts(inputs, filled=True)
    whole, parts = flat_parts(outputs, filled=False)
    return start(
        group, "all_to_all", Act.ALL_TO_ALL, input=sent, output=whole, input_counts=[t.numel() for t in inputs],
        output_counts=[t.numel() for t in outputs], copies=list(zip(parts, outputs, strict=True)), results=outputs,
        async_op=async_op,
    )  # fmt: skip


naming.present(globals(), "torch.distributed.distributed_c10d")
