"""Steps of 8 MLPs (2048-8192-2048, bfloat16, 4096 rows a GPU, AdamW) on one GPU and on several, by phase, on the device and the host.

``training_on_ranks.py ours|torch one ddp fsdp …``: ours, or PyTorch's. ``NUMBER`` in the environment is that of GPUs (2).
``contention`` shows what products and an all_reduce beside them cost each other.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROWS, WIDTH, HIDDEN, LAYERS, STEPS = 4096, 2048, 8192, 8, 20


def spread(kind, net, torch, name, rank):
    """The model of a kind of training, and the context of its backward."""
    if kind.startswith("ddp"):
        parallel = torch.nn.parallel.DistributedDataParallel(
            net, device_ids=[rank], gradient_as_bucket_view=kind == "ddp_view"
        )
        return parallel, parallel.no_sync if kind == "ddp_alone" else contextlib.nullcontext
    if kind.startswith("fsdp"):
        fsdp = importlib.import_module(f"{name}.distributed.fsdp")
        more = {"reshard_after_forward": False} if kind == "fsdp_kept" else {}
        for block in net:
            fsdp.fully_shard(block, **more)
        return fsdp.fully_shard(net, **more), contextlib.nullcontext
    return net, contextlib.nullcontext


def steps(kind, torch, name, rank):
    nn = torch.nn
    torch.manual_seed(0)
    with torch.device("cuda"):
        blocks = [
            nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)).to(torch.bfloat16)
            for _ in range(LAYERS)
        ]
        x = torch.randn(ROWS, WIDTH, dtype=torch.bfloat16)
    net, around = spread(kind, nn.Sequential(*blocks), torch, name, rank)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5, fused=kind.endswith("fused") or None)
    device, host = [], []
    torch.cuda.reset_peak_memory_stats()
    for step in range(STEPS + 5):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        times = [time.perf_counter()]
        marks[0].record()
        with around():
            loss = net(x).float().square().mean()
            marks[1].record(), times.append(time.perf_counter())
            loss.backward()
        marks[2].record(), times.append(time.perf_counter())
        optimizer.step()
        optimizer.zero_grad()
        marks[3].record(), times.append(time.perf_counter())
        if step >= 5:
            device.append(marks), host.append(times)
        if step == 4:
            torch.cuda.synchronize()
            began = time.perf_counter()
    returned = time.perf_counter() - began
    torch.cuda.synchronize()
    wall = time.perf_counter() - began
    phases = [statistics.median(m[i].elapsed_time(m[i + 1]) for m in device) for i in range(3)]
    on_host = [statistics.median(t[i + 1] - t[i] for t in host) * 1e3 for i in range(3)]
    return (
        f"{kind:10} {wall / STEPS * 1e3:6.2f} ms  host {returned / STEPS * 1e3:6.2f}  device "
        + " ".join(f"{p:5.2f}" for p in phases) + "  host " + " ".join(f"{p:5.2f}" for p in on_host)
        + f"  peak {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
    )  # fmt: skip


def contention(torch, dist):
    """Milliseconds of 60 products alone, of 24 reductions of 32 MiB alone, and of both together."""
    a = torch.randn(ROWS, WIDTH, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(WIDTH, HIDDEN, dtype=torch.bfloat16, device="cuda")
    c = torch.randn(ROWS, HIDDEN, dtype=torch.bfloat16, device="cuda")
    grads = [torch.zeros(1 << 24, dtype=torch.bfloat16, device="cuda") for _ in range(24)]

    def products():
        for _ in range(20):
            torch.mm(a, b), torch.mm(c, b.t()), torch.mm(a.t(), c)

    def reductions():
        return [dist.all_reduce(g, async_op=True) for g in grads]

    def copies():
        from shim_torch._impl.distributed import by_copies

        return [
            by_copies.all_reduce([g], dist.group.WORLD, average=False) or dist.all_reduce(g, async_op=True)
            for g in grads
        ]

    def timed(*calls):
        best = 1e9
        for _ in range(3):
            torch.cuda.synchronize(), dist.barrier(), torch.cuda.synchronize()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            works = [w for call in calls for w in call() or ()]
            [w.wait() for w in works]
            end.record()
            torch.cuda.synchronize()
            best = min(best, begin.elapsed_time(end))
        return best

    text = f"contention: products {timed(products):.2f} ms, NCCL's reductions {timed(reductions):.2f}, both {timed(reductions, products):.2f}"
    if torch.__name__ == "shim_torch":
        text += f"; by copies {timed(copies):.2f}, both {timed(copies, products):.2f}"
    return text


def main(rank, number, folder, name, kinds):
    torch = importlib.import_module(name)
    torch.cuda.set_device(rank)
    together = number > 1 or any(not kind.startswith("one") for kind in kinds)
    if together:
        dist = importlib.import_module(f"{name}.distributed")
        dist.init_process_group(
            "nccl", init_method=f"file://{folder}/store", rank=rank, world_size=number, device_id=torch.device("cuda", rank)
        )  # fmt: skip
    for kind in kinds:
        found = contention(torch, dist) if kind == "contention" else steps(kind, torch, name, rank)
        if rank == 0:
            print(found, flush=True)
        torch.cuda.empty_cache()
    if together:
        dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        rank, number, folder, name, *kinds = sys.argv[2:]
        main(int(rank), int(number), folder, name, kinds)
    number, folder = int(os.environ.get("NUMBER", "2")), tempfile.mkdtemp()
    name = "torch" if sys.argv[1] == "torch" else "shim_torch"
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "rank", str(r), str(number), folder, name, *sys.argv[2:]],
            env=os.environ | {"NCCL_NVLS_ENABLE": "0"},
        )
        for r in range(number)
    ]
    raise SystemExit(max(rank.wait() for rank in ranks))
