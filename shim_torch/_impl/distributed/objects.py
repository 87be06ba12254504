"""Collectives of Python objects, which are pickled into tensors of bytes."""

from __future__ import annotations

import pickle
from typing import Any

from shim_torch._impl.distributed.checks import found, outside, root_of
from shim_torch._impl.distributed.collectives import all_gather, all_gather_into_tensor, broadcast
from shim_torch._impl.distributed.on_devices import device_of
from shim_torch._impl.distributed.rooted import gather, one_part_each, scatter
from shim_torch._impl.surface import naming


def _packed(value: Any) -> Any:
    import shim_torch as torch

    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _device(group: Any) -> Any:
    """Where a group's bytes travel: the CPU, unless NCCL is all that it has."""
    import shim_torch as torch

    return device_of(group) if group._engine is None else torch.device("cpu")


def _unpacked(data: Any, size: int) -> Any:
    return pickle.loads(data[:size].numpy().tobytes())


def _bytes(size: int, group: Any) -> Any:
    import shim_torch as torch

    return torch.empty(max(1, size), dtype=torch.uint8, device=_device(group))


def _padded(data: Any, size: int, group: Any) -> Any:
    import shim_torch as torch

    room = torch.zeros(max(1, size), dtype=torch.uint8)
    room[: data.numel()] = data
    return room.to(_device(group))


def _numbers(values: list[int], group: Any) -> Any:
    import shim_torch as torch

    return torch.tensor(values, dtype=torch.int64).to(_device(group))


def _sizes(data: Any, group: Any) -> list[int]:
    """How many bytes each process has."""
    sizes = _numbers([0] * group.size(), group)
    all_gather_into_tensor(sizes, _numbers([data.numel()], group), group=group)
    return [int(size) for size in sizes.tolist()]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all processes, in a list."""
    if outside(group, "all_gather_object"):
        return
    group = found(group)
    data = _packed(obj)
    sizes = _sizes(data, group)
    parts = [_bytes(max(sizes), group) for _ in sizes]
    all_gather(parts, _padded(data, max(sizes), group), group=group)
    for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        object_list[i] = _unpacked(part.cpu(), size)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """The objects of the group, in a list of one process."""
    if outside(group, "gather_object"):
        return
    group = found(group)
    root = root_of(group, dst, group_dst, "gather", 0)
    at_root = root == group.rank()
    if at_root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not at_root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data = _packed(obj)
    sizes = _sizes(data, group)
    parts = [_bytes(max(sizes), group) for _ in sizes] if at_root else None
    gather(_padded(data, max(sizes), group), parts, group=group, group_dst=root)
    for i, size in enumerate(sizes if at_root else ()):
        object_gather_list[i] = _unpacked(parts[i].cpu(), size)  # type: ignore[index]


def broadcast_object_list(
    object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
) -> None:
    """One process's objects, in the lists of all, which are of one length."""
    import shim_torch as torch

    if outside(group, "broadcast_object_list"):
        return
    group = found(group)
    root = root_of(group, src, group_src, "broadcast", 0)
    at_root = root == group.rank()
    datas = [_packed(value) for value in object_list] if at_root else []
    counts = _numbers([d.numel() for d in datas] if at_root else [0] * len(object_list), group)
    broadcast(counts, group=group, group_src=root)
    sizes = counts.tolist()
    whole = torch.cat(datas).to(_device(group)) if datas else _bytes(sum(sizes), group)
    broadcast(whole, group=group, group_src=root)
    for i, part in enumerate(() if at_root else whole.cpu().split(sizes)):
        object_list[i] = _unpacked(part, part.numel())


def scatter_object_list(
    scatter_object_output_list: Any, scatter_object_input_list: Any = None, src: Any = None, group: Any = None,
    group_src: Any = None,
) -> None:  # fmt: skip
    """The object that one process's list has for this one, the first one of a list."""
    if outside(group, "scatter_object_list"):
        return
    group = found(group)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(group, src, group_src, "scatter", 0)
    datas, size = [], _numbers([0] * group.size(), group)
    if root == group.rank():
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        one_part_each(scatter_object_input_list, group)
        datas = [_packed(value) for value in scatter_object_input_list]
        size = _numbers([d.numel() for d in datas], group)
    broadcast(size, group=group, group_src=root)
    sizes = size.tolist()
    most = max(sizes)
    mine = _bytes(most, group)
    scatter(mine, [_padded(d, most, group) for d in datas] or None, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine.cpu(), sizes[group.rank()])


naming.present(globals(), "torch.distributed.distributed_c10d")
