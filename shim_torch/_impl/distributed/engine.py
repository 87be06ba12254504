"""From checked tensors to the engine of a group: MPI in the core, or a copy where the group is this process alone."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.distributed import on_devices
from shim_torch._impl.distributed.on_devices import on_device
from shim_torch._impl.distributed.work import Work


class Act(enum.IntEnum):
    """The kinds of collectives: the core's numbers."""

    ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, GATHER, SCATTER, REDUCE_SCATTER, ALL_TO_ALL = range(8)
    BARRIER, SEND, RECEIVE = 8, 9, 10


def dense(tensor: Any) -> Any:
    """The values of a tensor in a contiguous one, itself where it is; without gradients."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.contiguous()


def _check_device(group: Any, *tensors: Any) -> None:
    for tensor in tensors:
        if tensor is not None and tensor.device.type != "cpu":
            raise NotImplementedError(
                f"torch.distributed: a tensor on {tensor.device} in a group of {group.size()} processes: shim-torch's "
                "collectives between processes are of CPU tensors so far"
            )
        if tensor is not None and tensor.layout.__str__() != "torch.strided":
            raise NotImplementedError(
                "torch.distributed: collectives of sparse tensors are not supported by shim-torch"
            )


def start(
    group: Any, name: str, act: Act, *, op: int = 0, input: Any = None, output: Any = None, root: int = 0, tag: int = 0,
    input_counts: Sequence[int] | None = None, output_counts: Sequence[int] | None = None,
    copies: list[tuple[Any, Any]] | None = None, results: Sequence[Any] = (), async_op: bool = False, factor: Any = None,
) -> Work | None:  # fmt: skip
    """Begins a collective, and waits for it unless it is asynchronous.

    ``input``, ``output``: of any layout; gathers' outputs and scatters' inputs are flat. ``copies``: (from, to) when it is done.
    """
    if (subject := input if output is None else output) is not None and on_device(group, subject):
        assert copies is None, "lists go to NCCL as they are"
        return on_devices.start(
            group, name, act, op=op, factor=factor, inputs=input, outputs=output, root=root, input_counts=input_counts,
            output_counts=output_counts, results=results, async_op=async_op,
        )  # fmt: skip
    if group._size == 1:
        if output is not None and input is not None:
            output.detach().copy_(input.detach().reshape(output.shape))
        for source, target in copies or ():
            target.detach().copy_(source)
        return Work(results) if async_op else None
    if output is not None and not (output.is_contiguous() and output.device.type == "cpu" and not output.is_conj()):
        _check_device(group, output)
        staged = dense(output)
        copies = [(staged, output), *(copies or [])]
        output = staged
    if input is not None:
        _check_device(group, input)
        input = dense(input)
    running = group._engine.start(
        name, act, op, input, output, root, tag, input_counts, output_counts, copies, group._limit, not async_op
    )
    return Work(results, running) if async_op else None


def flat_parts(tensors: Sequence[Any], filled: bool) -> tuple[Any, list[Any]]:
    """One flat tensor for many, and its parts in their shapes; with the tensors' values or without."""
    import shim_torch as torch

    whole = torch.empty(sum(t.numel() for t in tensors), dtype=tensors[0].dtype, device=tensors[0].device)
    parts = [p.view(t.shape) for p, t in zip(whole.split([t.numel() for t in tensors]), tensors, strict=True)]
    if filled:
        for part, tensor in zip(parts, tensors, strict=True):
            part.copy_(tensor.detach())
    return whole, parts


Collective = Callable[..., Work | None]
