"""What the ranks run of the collectives that are made of copies between GPUs: two processes may do it on one, without NCCL."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import Any

from collective_programs import dist, told, torch
from device_programs import begin, here

MiB = 1 << 20
os.environ.setdefault("SHIM_PEER_COPIES", "1")  # small ones too


def _values(rank: int, count: int, dtype: Any, more: int = 0) -> Any:
    return here(((torch.arange(count) * (rank + 2) + more) % 23).to(dtype) / 4)


def _gap(a: Any, b: Any) -> float:
    return float((a.cpu().float() - b.cpu().float()).abs().max())


def collectives(rank: int, number: int, folder: Any, one_device: bool = False) -> Any:
    """Messages of several sizes, gathers and means, beside what they have to be; None where there is no such memory."""
    begin(rank, number, folder)
    from shim_torch._impl.distributed import by_copies

    group, found = dist.group.WORLD, {}
    right, left = (rank + 1) % number, (rank - 1) % number
    for times, count in ((3, 5), (2, 10 * MiB + 3)):  # of float32: of parts of a slot, and of more than there are
        for turn in range(times):
            x, got = _values(rank, count, torch.float32, turn), torch.empty(count, device="cuda")
            work = by_copies.copied(group, [(x, right)], [(got, left)])
            if work is None:
                dist.destroy_process_group()
                return None
            work.wait()
            found["message", count, turn] = _gap(got, _values(left, count, torch.float32, turn))
    for dtype in (torch.bfloat16, torch.float32):
        count = (
            number * 3 * (5 if dtype == torch.float32 else 3) * MiB // 12
        )  # rows of two pieces, and of less than one
        every = [_values(r, count, dtype) for r in range(number)]
        mean = torch.stack([x.cpu().float() for x in every]).mean(0)
        out = torch.empty(number * count, dtype=dtype, device="cuda")
        by_copies.all_gather(out, every[rank], group).wait()
        found["all_gather", str(dtype)] = _gap(out, torch.cat([x.cpu() for x in every]))
        mine = torch.empty(count // number, dtype=dtype, device="cuda")
        by_copies.reduce_scatter([mine], [every[rank].clone()], group).wait()
        found["reduce_scatter", str(dtype)] = _gap(mine, mean.chunk(number)[rank])
        grads, means = [every[rank].clone(), here(every[rank].cpu().view(4, -1) * 2)], [mean, 2 * mean.view(4, -1)]
        if not one_device:  # what is small is NCCL's
            grads.append(here(torch.full((5,), float(rank), dtype=dtype)))
            means.append(torch.full((5,), (number - 1) / 2))
        by_copies.all_reduce(grads, group, average=True).wait()
        gaps = [_gap(x, m) for x, m in zip(grads, means, strict=True)]
        found["all_reduce", str(dtype)] = max(gaps)
        total = every[rank].clone()
        by_copies.all_reduce([total], group, average=False).wait()
        found["all_reduce", "sum", str(dtype)] = _gap(total, mean * number) / number
    found["small"] = by_copies.all_reduce([here(torch.ones(number))], group, average=True) is None
    torch.cuda.synchronize()
    dist.destroy_process_group()
    return found


def pieces(rank: int, number: int, folder: Any) -> Any:
    """Greatest gaps, relative, of parallel linear layers in pieces to one process, of all that this rank has."""
    begin(rank, number, folder)
    from tensor_programs import R, S, mesh_module, parallel

    os.environ["SHIM_TP_OVERLAP"] = "1"
    mesh = mesh_module.init_device_mesh("cuda", (number,))
    found = {}
    for shape, dim in (((1024, 1024), 0), ((2, 512 * number, 1024), 1), ((1024, 1024), None)):
        for dtype in (torch.float32, torch.bfloat16):
            torch.manual_seed(3)
            net = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.Linear(2048, 1024)).to("cuda", dtype)
            x, grad = (here(torch.randn(shape)).to(dtype) for _ in range(2))
            x.requires_grad_()
            out = net(x)
            out.backward(grad)
            expected = [out, x.grad, *(p.grad for p in net.parameters())]
            dims = [dim, dim, 0, 0, 1, None]  # of which each rank has a part
            net.zero_grad()
            placed = R if dim is None else S(dim)
            plan = {
                "0": parallel.ColwiseParallel(input_layouts=placed),
                "1": parallel.RowwiseParallel(output_layouts=placed),
            }
            net = parallel.parallelize_module(net, mesh, plan, src_data_rank=None)
            mine = [t.detach() if dim is None else t.detach().chunk(number, dim)[rank].contiguous() for t in (x, grad)]
            for _ in range(3):  # memory is used again
                net.zero_grad()
                y = mine[0].clone().requires_grad_()
                out = net(y)
                out.backward(mine[1])
            parts = [out, y.grad, *(p.grad.to_local() for p in net.parameters())]
            gaps = []
            for whole, part, split in zip(expected, parts, dims, strict=True):
                wanted = whole if split is None else whole.chunk(number, split)[rank]
                gaps.append(_gap(part, wanted) / float(wanted.float().abs().max()))
            found[shape, str(dtype)] = max(gaps)
    torch.cuda.synchronize()
    dist.destroy_process_group()
    return found


def trained(rank: int, number: int, folder: Any, how: str, steps: int = 12, width: int = 1024, rows: int = 64) -> Any:
    """(losses of this rank's part of a batch, those of the whole one in one process, greatest gap of weights).

    ``how``: "ddp", or ``fully_shard`` with parameters in "float32" or "bfloat16".
    """
    begin(rank, number, folder)
    from sharded_programs import fsdp, mesh_module

    nn = torch.nn
    mesh = mesh_module.init_device_mesh("cuda", (number,))
    losses: list[list[float]] = []
    for spread in (False, True):
        torch.manual_seed(4)
        blocks: list[Any] = []
        for _ in range(4):  # two large parameters, and two small ones that go with them
            sizes = (width, 2 * width, width, 8, width)
            up, down, *narrow = (nn.Linear(m, n, bias=False) for m, n in itertools.pairwise(sizes))
            blocks.append(nn.Sequential(up, nn.GELU(), down, *narrow))
        net = nn.Sequential(*blocks)
        net = net.to("cuda")
        if spread and how == "ddp":
            net = nn.parallel.DistributedDataParallel(net, init_sync=False)
        elif spread:
            more = (
                {"mp_policy": fsdp.MixedPrecisionPolicy(getattr(torch, how), torch.float32)} if how != "float32" else {}
            )
            for block in net:
                fsdp.fully_shard(block, mesh=mesh, **more)
            fsdp.fully_shard(net, mesh=mesh, **more)
        else:
            alone = net
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
        losses.append([])
        for step in range(steps):
            generator = torch.Generator().manual_seed(step)
            x, y = (here(torch.randn(rows * number, width, generator=generator)) for _ in range(2))
            x, y = (t[rows * rank : rows * rank + rows] if spread else t for t in (x, y))
            loss = nn.functional.mse_loss(net(x).float(), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses[-1].append(float(loss))
    pairs = zip(net.parameters(), alone.parameters(), strict=True)
    gaps = [_gap(p, q) if how == "ddp" else _gap(p.to_local(), q.chunk(number)[rank]) for p, q in pairs]
    dist.destroy_process_group()
    return losses[1], losses[0], max(gaps)


def lost(rank: int, number: int, folder: Any) -> Any:
    """A rank dies before its message: the other's streams are let go, and its next call says who it was."""
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "2"
    begin(rank, number, folder)
    from shim_torch._impl.distributed import by_copies

    group, x, got = dist.group.WORLD, here(torch.ones(1000)), here(torch.zeros(1000))
    by_copies.copied(group, [(x, 1 - rank)], [(got, 1 - rank)]).wait()
    torch.cuda.synchronize()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    by_copies.copied(group, [(x, 1)], [(got, 1)]).wait()
    torch.cuda.synchronize()
    time.sleep(1)
    return float(got[0]), told(lambda: by_copies.copied(group, [(x, 1)], [(got, 1)]))
