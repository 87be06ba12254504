"""What the ranks run on CUDA devices besides single collectives: graphs that hold some, and training."""

from __future__ import annotations

from typing import Any

from collective_programs import dist, told, torch
from device_programs import begin, here


def graphs(rank: int, number: int, folder: Any) -> Any:
    """Collectives in a CUDA graph, synchronous and asynchronous; a group's first one is refused there."""
    begin(rank, number, folder)
    x, y = here(torch.zeros(64)), here(torch.zeros(64))
    dist.all_reduce(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(x)
        work = dist.all_reduce(y, async_op=True)
        work.wait()
        x.add_(y)
    found = []
    for value in (1.0, 2.0):
        x.fill_(value + rank), y.fill_(10.0)
        graph.replay()
        torch.cuda.synchronize()
        found.append((float(x[0]), float(y[63])))
    fresh = dist.new_group(range(number))

    def first() -> None:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            dist.all_reduce(x, group=fresh)

    found.append(told(first))
    dist.destroy_process_group()
    return found


def trained(rank: int, number: int, folder: Any) -> Any:
    """Losses of DistributedDataParallel beside those of the whole batch in one process."""
    begin(rank, number, folder)
    nn = torch.nn

    def model() -> Any:
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 8)).to(
            "cuda"
        )

    torch.manual_seed(5)
    data, target = torch.randn(20, number * 16, 64), torch.randn(20, number * 16, 8)
    losses = []
    for parallel in (False, True):
        net = nn.parallel.DistributedDataParallel(model()) if parallel else model()
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        losses.append([])
        mine = slice(rank * 16, rank * 16 + 16) if parallel else slice(None)
        for x, y in zip(data, target, strict=True):
            loss = nn.functional.mse_loss(net(here(x[mine])), here(y[mine]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            if parallel:
                dist.all_reduce(total, dist.ReduceOp.AVG)
            losses[-1].append(float(total))
    return max(abs(a - b) for a, b in zip(*losses, strict=True)), losses[0][-1]


def sharded(rank: int, number: int, folder: Any, options: dict[str, Any]) -> Any:
    """Losses of ``fully_shard`` beside one GPU's: (those alone, those spread)."""
    from sharded_programs import training

    begin(rank, number, folder)
    alone, spread, *_ = training("cuda", rank, number, options)
    return alone[0], spread[0]
