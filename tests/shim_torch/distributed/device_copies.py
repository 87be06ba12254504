"""What the ranks run of the collectives that are made of copies between GPUs. NCCL itself is not needed for it."""

from __future__ import annotations

import os
from typing import Any

from collective_programs import dist, torch
from device_programs import begin, here

MiB = 1 << 20


def _values(rank: int, count: int, dtype: Any, more: int = 0) -> Any:
    return here(((torch.arange(count) * (rank + 2) + more) % 23).to(dtype) / 4)


def _gap(a: Any, b: Any) -> float:
    return float((a.cpu().float() - b.cpu().float()).abs().max())


def _added_on_host(mine: Any, others: Any, average: bool) -> None:
    """Where the device runs no kernels."""
    every = torch.stack([t.cpu().float() for t in (mine, *others)])
    mine.copy_((every.mean(0) if average else every.sum(0)).to(mine.dtype))


def collectives(rank: int, number: int, folder: Any) -> Any:
    """Messages of several sizes, gathers and means, beside what they have to be; None where there is no such memory."""
    begin(rank, number, folder)
    from shim_torch._impl.distributed import by_copies

    if os.environ.get("RANKS_WITHOUT_KERNELS"):
        by_copies._added = _added_on_host
    group, found = dist.group.WORLD, {}
    right, left = (rank + 1) % number, (rank - 1) % number
    for times, count in ((3, 5), (2, 9 * MiB + 3)):  # of float32: of parts of a slot, and of several
        for turn in range(times):
            x, got = _values(rank, count, torch.float32, turn), torch.empty(count, device="cuda")
            work = by_copies._copied(group, [(x, right)], [(got, left)])
            if work is None:
                dist.destroy_process_group()
                return None
            work.wait()
            found["message", count, turn] = _gap(got, _values(left, count, torch.float32, turn))
    for dtype in (torch.bfloat16, torch.float32):
        count = number * 3 * MiB // 2
        every = [_values(r, count, dtype) for r in range(number)]
        mean = torch.stack([x.cpu().float() for x in every]).mean(0)
        out = torch.empty(number * count, dtype=dtype, device="cuda")
        by_copies.all_gather(out, every[rank], group).wait()
        found["all_gather", str(dtype)] = _gap(out, torch.cat([x.cpu() for x in every]))
        mine = torch.empty(count // number, dtype=dtype, device="cuda")
        by_copies.reduce_scatter_mean(mine, every[rank].clone(), group).wait()
        found["reduce_scatter", str(dtype)] = _gap(mine, mean.chunk(number)[rank])
        grads = [
            every[rank].clone(),
            here(every[rank].cpu().view(3, -1) * 2),
            here(torch.full((5,), float(rank), dtype=dtype)),
        ]
        by_copies.all_reduce(grads, group, average=True).wait()
        gaps = [
            _gap(grads[0], mean),
            _gap(grads[1].view(-1), 2 * mean),
            _gap(grads[2], torch.full((5,), (number - 1) / 2)),
        ]
        found["all_reduce", str(dtype)] = max(gaps)
        total = every[rank].clone()
        by_copies.all_reduce([total], group, average=False).wait()
        found["all_reduce", "sum", str(dtype)] = _gap(total, mean * number) / number
    found["small"] = by_copies.all_reduce([here(torch.ones(number))], group, average=True) is None
    os.environ["SHIM_PEER_COPIES"] = "0"
    found["off"] = by_copies.all_gather(out, every[rank], group) is None
    torch.cuda.synchronize()
    dist.destroy_process_group()
    return found
