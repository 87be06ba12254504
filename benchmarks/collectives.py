"""Collectives of two GPUs: how long a call takes to return, and bytes a second. ``collectives.py ours|torch``: ours, or PyTorch's."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time

SMALL = {"8 B": 4, "64 KB": 32768}  # elements of bfloat16
LARGE = (256 << 20) // 2


def calls(dist, torch, number):
    def of(name, n):
        x = torch.ones(n, dtype=torch.bfloat16, device="cuda")
        part = torch.ones(max(1, n // number), dtype=torch.bfloat16, device="cuda")
        out = torch.ones(n, dtype=torch.bfloat16, device="cuda")
        return {
            "all_reduce": lambda: dist.all_reduce(x),
            "all_gather": lambda: dist.all_gather_into_tensor(out, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, x),
            "all_to_all": lambda: dist.all_to_all_single(out, x),
        }[name]

    return of


def until_it_returns(call, torch, times=200):
    for _ in range(30):
        call()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - began) / times)
        torch.cuda.synchronize()
    return best


def on_the_device(call, torch, times=20):
    for _ in range(5):
        call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = 1e9
    for _ in range(3):
        begin.record()
        for _ in range(times):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / times / 1000)
    return best


def main(rank, number, folder, name):
    torch = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method=f"file://{folder}/store", rank=rank, world_size=number, device_id=torch.device("cuda", rank)
    )
    of = calls(dist, torch, number)
    factor = {"all_reduce": 2 * (number - 1) / number}
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        line = f"{kind:15}"
        for size, n in SMALL.items():
            line += f" {size} {until_it_returns(of(kind, n), torch) * 1e6:7.1f} us"
        seconds = on_the_device(of(kind, LARGE), torch)
        line += f"  256 MB {2 * LARGE / seconds * factor.get(kind, (number - 1) / number) / 1e9:7.1f} GB/s"
        if rank == 0:
            print(line, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(int(sys.argv[2]), 2, sys.argv[3], "torch" if sys.argv[1] == "torch" else "shim_torch")
    else:
        folder = tempfile.mkdtemp()
        ranks = [
            subprocess.Popen(
                [sys.executable, __file__, sys.argv[1], str(r), folder], env=os.environ | {"NCCL_NVLS_ENABLE": "0"}
            )
            for r in range(2)
        ]
        raise SystemExit(max(rank.wait() for rank in ranks))
