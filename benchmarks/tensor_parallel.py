"""Column and row parallel MLPs (bfloat16, 4096 rows in all) on several GPUs, forward and backward: ``tensor_parallel.py ours|torch``.

``whole``: each process has all rows of input and output. ``rows``: they are split (sequence parallelism), and the collective
follows or precedes the product; ``pieces``, ``whole pieces``: it overlaps with parts of it (SHIM_TP_OVERLAP), with rows that are split and
that all have. ``NUMBER`` is that of GPUs (2); ``WIDTH`` that of the only MLP to time.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time

ROWS, SIZES = 4096, ((8192, 28672), (4096, 16384), (4096, 4096))


def timed(call, torch, times=20):
    """Milliseconds on the device, and until it returns."""
    for _ in range(4):
        call()
    torch.cuda.synchronize()
    best, host = 1e9, 1e9
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began = time.perf_counter()
        begin.record()
        for _ in range(times):
            call()
        end.record()
        host = min(host, (time.perf_counter() - began) / times)
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / times)
    return best, host * 1e3


def model(torch, name, mesh, width, hidden, split):
    tp = importlib.import_module(f"{name}.distributed.tensor.parallel")
    placed = importlib.import_module(f"{name}.distributed.tensor")
    torch.manual_seed(1)
    with torch.device("cuda"):
        net = torch.nn.Sequential(
            torch.nn.Linear(width, hidden, bias=False), torch.nn.Linear(hidden, width, bias=False)
        ).to(torch.bfloat16)
    rows = placed.Shard(0) if split else placed.Replicate()
    plan = {"0": tp.ColwiseParallel(input_layouts=rows), "1": tp.RowwiseParallel(output_layouts=rows)}
    return tp.parallelize_module(net, mesh, plan)


def main(rank, number, folder, name):
    torch = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    meshes = importlib.import_module(f"{name}.distributed.device_mesh")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method=f"file://{folder}/store", rank=rank, world_size=number, device_id=torch.device("cuda", rank)
    )
    mesh = meshes.init_device_mesh("cuda", (number,))
    for width, hidden in SIZES:
        line, kept = f"{width}-{hidden}:", {}
        if str(width) not in os.environ.get("WIDTH", str(width)):
            continue
        for kind in ("whole", "rows", "pieces", "whole pieces") if name == "shim_torch" else ("whole", "rows"):
            os.environ["SHIM_TP_OVERLAP"] = "1" if kind.endswith("pieces") else "0"
            split = not kind.startswith("whole")
            net = model(torch, name, mesh, width, hidden, split)
            torch.manual_seed(2)
            x = torch.randn(ROWS, width, dtype=torch.bfloat16, device="cuda")
            grad = torch.randn(ROWS, width, dtype=torch.bfloat16, device="cuda")
            if split:
                x, grad = x.chunk(number)[rank].contiguous(), grad.chunk(number)[rank].contiguous()
            x.requires_grad_()
            out = []

            def step(net=net, x=x, grad=grad, out=out):
                for p in (x, *net.parameters()):
                    p.grad = None
                y = net(x)
                out[:] = [y.detach()]
                y.backward(grad)

            milliseconds, host = timed(step, torch)
            line += f"  {kind} {milliseconds:6.3f} ms (host {host:.2f})"
            kept[kind] = [out[0], x.grad, *(p.grad.to_local() for p in net.parameters())]
        for form in ("rows", "whole") if "pieces" in kept else ():
            pairs = zip(kept[form], kept["pieces" if form == "rows" else "whole pieces"], strict=True)
            gaps = [float((a - b).float().abs().max() / a.float().abs().max()) for a, b in pairs]
            line += "  gaps " + " ".join(f"{g:.1g}" for g in gaps)
        if rank == 0:
            print(line, flush=True)
        del net, x, grad, out, kept, step
        torch.cuda.empty_cache()
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], "torch" if sys.argv[1] == "torch" else "shim_torch")
    number, folder = int(os.environ.get("NUMBER", "2")), tempfile.mkdtemp()
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, sys.argv[1], str(r), str(number), folder],
            env=os.environ | {"NCCL_NVLS_ENABLE": "0"},
        )
        for r in range(number)
    ]
    raise SystemExit(max(rank.wait() for rank in ranks))
