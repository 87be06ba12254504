"""Collectives of Python objects, which are pickled into tensors of bytes."""

from __future__ import annotations

import pickle
from typing import Any

from shim_torch._impl.distributed.checks import found, outside, root_of
from shim_torch._impl.distributed.collectives import all_gather, all_gather_into_tensor, broadcast
from shim_torch._impl.distributed.rooted import gather, one_part_each, scatter
from shim_torch._impl.surface import naming


def _packed(value: Any) -> Any:
    import shim_torch as torch

    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _unpacked(data: Any, size: int) -> Any:
    return pickle.loads(data[:size].numpy().tobytes())


def _bytes(size: int) -> Any:
    import shim_torch as torch

    return torch.zeros(max(1, size), dtype=torch.uint8)


def _padded(data: Any, size: int) -> Any:
    room = _bytes(size)
    room[: data.numel()] = data
    return room


def _sizes(data: Any, group: Any) -> list[int]:
    """How many bytes each process has."""
    import shim_torch as torch

    sizes = torch.zeros(group.size(), dtype=torch.int64)
    all_gather_into_tensor(sizes, torch.tensor([data.numel()]), group=group)
    return [int(size) for size in sizes.tolist()]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all processes, in a list."""
    if outside(group, "all_gather_object"):
        return
    group = found(group)
    data = _packed(obj)
    sizes = _sizes(data, group)
    parts = [_bytes(max(sizes)) for _ in sizes]
    all_gather(parts, _padded(data, max(sizes)), group=group)
    for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        object_list[i] = _unpacked(part, size)


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
    parts = [_bytes(max(sizes)) for _ in sizes] if at_root else None
    gather(_padded(data, max(sizes)), parts, group=group, group_dst=root)
    for i, size in enumerate(sizes if at_root else ()):
        object_gather_list[i] = _unpacked(parts[i], size)  # type: ignore[index]


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
    sizes = torch.tensor([d.numel() for d in datas] if at_root else [0] * len(object_list), dtype=torch.int64)
    broadcast(sizes, group=group, group_src=root)
    whole = torch.cat(datas) if datas else _bytes(int(sizes.sum()))
    broadcast(whole, group=group, group_src=root)
    for i, part in enumerate(() if at_root else whole.split(sizes.tolist())):
        object_list[i] = _unpacked(part, part.numel())


def scatter_object_list(
    scatter_object_output_list: Any, scatter_object_input_list: Any = None, src: Any = None, group: Any = None,
    group_src: Any = None,
) -> None:  # fmt: skip
    """The object that one process's list has for this one, the first one of a list."""
    import shim_torch as torch

    if outside(group, "scatter_object_list"):
        return
    group = found(group)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(group, src, group_src, "scatter", 0)
    datas, size = [], torch.zeros(group.size(), dtype=torch.int64)
    if root == group.rank():
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        one_part_each(scatter_object_input_list, group)
        datas = [_packed(value) for value in scatter_object_input_list]
        size = torch.tensor([d.numel() for d in datas])
    broadcast(size, group=group, group_src=root)
    most = int(size.max())
    mine = _bytes(most)
    scatter(mine, [_padded(d, most) for d in datas] or None, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine, int(size[group.rank()]))


naming.present(globals(), "torch.distributed.distributed_c10d")
