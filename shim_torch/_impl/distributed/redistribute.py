"""From one placement of a tensor over a mesh to another: what this process holds before, and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.distributed import collectives, exchanges
from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _Split, _StridedShard

_OPS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "max": ReduceOp.MAX, "min": ReduceOp.MIN, "product": ReduceOp.PRODUCT}


def chunk(size: int, parts: int, part: int) -> tuple[int, int]:
    """(how many places a part has, the first of them): as ``torch.chunk`` cuts."""
    return Shard.local_shard_size_and_offset(size, parts, part)


def runs(placement: _Split, size: int, parts: int, part: int) -> list[tuple[int, int]]:
    """(first, how many) of the places of a dim that a part has: one run, of ``_StridedShard`` one in each of its groups."""
    groups = placement.split_factor if isinstance(placement, _StridedShard) else 1
    found = [chunk(size, groups * parts, part + k * parts) for k in range(groups)]
    return [(first, count) for count, first in found]


def coordinate(mesh: Any) -> tuple[int, ...]:
    """This process's place. Errors: RuntimeError where it is not in the mesh."""
    found = mesh.get_coordinate()
    if found is None:
        raise RuntimeError(f"torch.distributed.tensor: rank {mesh.get_rank()} is not in {mesh!r}")
    return tuple(found)


def _within(held: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs of what is held, itself runs, as runs of the whole; neighbours are one."""
    found: list[tuple[int, int]] = []
    for first, count in wanted:
        start = 0
        for place, size in held:
            low, high = max(first, start), min(first + count, start + size)
            if low < high:
                begin = place + low - start
                joins = found and sum(found[-1]) == begin
                found[-1:] = (
                    [(found[-1][0], found[-1][1] + high - low)] if joins else [*found[-1:], (begin, high - low)]
                )
            start += size
    return found or [(sum(held[-1]), 0)]


def places(
    shape: Sequence[int], mesh: Any, placements: Sequence[Placement], upto: int | None = None
) -> list[list[tuple[int, int]]]:
    """(first, how many) of the places that this process has of each dim, of the first ``upto`` dimensions of the mesh."""
    at = coordinate(mesh)
    found = [[(0, size)] for size in shape]
    for i, p in enumerate(placements[:upto]):
        if isinstance(p, _Split):
            total = sum(count for _, count in found[p.dim])
            found[p.dim] = _within(found[p.dim], runs(p, total, mesh.shape[i], at[i]))
    return found


def local_shape(
    shape: Sequence[int], mesh: Any, placements: Sequence[Placement], upto: int | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the shape of this process's part, where it begins), of the first ``upto`` dimensions of the mesh."""
    found = places(shape, mesh, placements, upto)
    return tuple(sum(count for _, count in dim) for dim in found), tuple(dim[0][0] for dim in found)


def _padded(x: Any, dim: int, size: int) -> Any:
    """With zeros at the end of a dim."""
    import shim_torch as torch

    if x.shape[dim] == size:
        return x
    shape = list(x.shape)
    shape[dim] = size - x.shape[dim]
    return torch.cat([x, x.new_zeros(shape)], dim)


def _gathered(x: Any, dim: int, whole: int, group: Any, n: int) -> Any:
    part = -(-whole // n)
    x = _padded(x, dim, part).movedim(dim, 0).contiguous()
    result = x.new_empty((part * n, *x.shape[1:]))
    collectives.all_gather_into_tensor(result, x, group=group)
    return result[:whole].movedim(0, dim).contiguous()


def _cut(x: Any, placement: _Split, n: int, at: int) -> Any:
    """A part of a whole."""
    import shim_torch as torch

    found = [x.narrow(placement.dim, first, count) for first, count in runs(placement, x.shape[placement.dim], n, at)]
    return torch.cat(found, placement.dim) if len(found) > 1 else found[0].contiguous()


def _unstrided(x: Any, placement: _StridedShard, whole: int, group: Any, n: int) -> Any:
    """The whole, of parts with a run in each group."""
    import shim_torch as torch

    dim, every = placement.dim, [runs(placement, whole, n, part) for part in range(n)]
    longest = max(sum(count for _, count in found) for found in every)
    joined = _gathered(_padded(x, dim, longest), dim, longest * n, group, n)
    placed = []  # (where a run belongs, the run)
    for part, found in enumerate(every):
        at = part * longest
        for first, count in found:
            placed.append((first, joined.narrow(dim, at, count)))
            at += count
    return torch.cat([run for _, run in sorted(placed, key=lambda pair: pair[0])], dim)


def _scattered(x: Any, dim: int, op: str, group: Any, n: int, at: int) -> Any:
    whole = x.shape[dim]
    part = -(-whole // n)
    x = _padded(x, dim, part * n).movedim(dim, 0).contiguous()
    result = x.new_empty((part, *x.shape[1:]))
    collectives.reduce_scatter_tensor(result, x, _OPS[op], group=group)
    return result[: chunk(whole, n, at)[0]].movedim(0, dim).contiguous()


def _exchanged(x: Any, old: int, new: int, whole: int, group: Any, n: int, at: int) -> Any:
    """From parts of one dim to parts of another."""
    import shim_torch as torch

    size, part, mine = x.shape[new], -(-x.shape[new] // n), -(-whole // n)
    x = _padded(_padded(x, old, mine), new, part * n)
    sent = torch.stack(x.chunk(n, new)).contiguous()
    got = torch.empty_like(sent)
    exchanges.all_to_all_single(got, sent, group=group)
    joined = torch.cat(list(got.unbind(0)), old).narrow(old, 0, whole)
    return joined.narrow(new, 0, chunk(size, n, at)[0]).contiguous()


def _step(x: Any, old: Placement, new: Placement, whole: int | None, mesh: Any, i: int) -> Any:
    """In one dimension of the mesh. ``whole``: the size of the dim that is split, before this dimension splits it."""
    import shim_torch as torch

    group, n, at = mesh.get_group(i), mesh.shape[i], coordinate(mesh)[i]
    if old == new:
        return x
    if isinstance(old, _Split) and whole is not None:
        if isinstance(old, _StridedShard):
            x = _unstrided(x, old, whole, group, n)
        elif isinstance(new, Shard):
            return _exchanged(x, old.dim, new.dim, whole, group, n, at)
        else:
            x = _gathered(x, old.dim, whole, group, n)
    elif isinstance(old, Partial):
        if isinstance(new, Shard):
            return _scattered(x, new.dim, old.reduce_op, group, n, at)
        x = x.clone(memory_format=torch.contiguous_format)
        collectives.all_reduce(x, _OPS[old.reduce_op], group=group)
    if isinstance(new, _Split):
        return _cut(x, new, n, at)
    if isinstance(new, Partial) and new.reduce_op == "sum" and at > 0:
        return torch.zeros_like(x)  # the sum is that of the first process
    return x


def move(x: Any, shape: Sequence[int], mesh: Any, current: Sequence[Placement], target: Sequence[Placement]) -> Any:
    """This process's part of a tensor of that shape, placed otherwise. A dim that several dimensions of the mesh split is joined from the
    last one on."""
    old, new = list(current), list(target)
    if old == new:
        return x

    def dims(i: int) -> set[int]:
        return {p.dim for p in (old[i], new[i]) if isinstance(p, _Split)}

    changed = {i for i in range(len(old)) if old[i] != new[i]}
    alone = {i for i in changed if not any(dims(i) & dims(j) for j in range(len(old)) if j != i)}
    touched = set().union(*(dims(i) for i in changed - alone))
    joined = (changed - alone) | {i for i in range(len(old)) if i not in alone and dims(i) & touched}
    for i in reversed(range(len(old))):
        if i in alone or i in joined:
            p = old[i]
            whole = local_shape(shape, mesh, old, i)[0][p.dim] if isinstance(p, _Split) else None
            to = new[i] if i in alone else Replicate()
            x = _step(x, p, to, whole, mesh, i)
            old[i] = to
    for i in sorted(joined):
        x = _step(x, old[i], new[i], None, mesh, i)
    return x


def normal(placements: Any, mesh: Any, ndim: int) -> tuple[Placement, ...]:
    """Placements, one a dimension of the mesh, dims not negative. Errors: ValueError, RuntimeError for those that cannot be."""
    placements = (Replicate(),) * mesh.ndim if placements is None else tuple(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
            f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    found = []
    for i, p in enumerate(placements):
        if isinstance(p, _Split):
            if p.dim >= ndim:
                raise RuntimeError(f"Sharding dim {p.dim} greater than tensor ndim {ndim} for placement number {i}")
            if p.dim < 0 and type(p) is Shard:
                p = Shard(p.dim + ndim)
            elif p.dim < 0 and isinstance(p, _StridedShard):
                p = _StridedShard(p.dim + ndim, split_factor=p.split_factor)
        found.append(p)
    return tuple(found)
