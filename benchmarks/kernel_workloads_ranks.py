"""The workload of ``kernel_workloads.py`` that takes two GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any


def two_ranks(torch: Any, dtype: Any, skipped: int) -> None:
    """This process and one that it starts: small collectives, and gradients that are large enough to go by copies."""
    dist = torch.distributed
    if torch.cuda.device_count() < 2:
        print("there are no two GPUs", file=sys.stderr)
        raise SystemExit(skipped)
    rank, folder, other = int(os.environ.get("COLLECTIVES_RANK", "0")), os.environ.get("COLLECTIVES_FOLDER", ""), None
    if not rank:
        folder = tempfile.mkdtemp()
        more = {"COLLECTIVES_RANK": "1", "COLLECTIVES_FOLDER": folder}
        environment = {k: v for k, v in os.environ.items() if k != "SHIM_TORCH_RECORD_KERNELS"} | more
        other = subprocess.Popen([sys.executable, *sys.argv], env=environment)
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    x, out = torch.ones(64, dtype=dtype, device="cuda"), torch.empty(128, dtype=dtype, device="cuda")
    dist.all_reduce(x)
    dist.all_gather_into_tensor(out, x)
    dist.reduce_scatter_tensor(x, out, dist.ReduceOp.AVG)
    dist.all_to_all_single(out[:64], x)
    for count in (torch.int64, torch.int32):  # of tokens and parameters
        dist.all_reduce(torch.ones(1, dtype=count, device="cuda"))

    class Large(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1 << 24, dtype=dtype, device="cuda"))

        def forward(self) -> Any:
            return self.weight.sum()

    torch.nn.parallel.DistributedDataParallel(Large())().backward()
    torch.cuda.synchronize()
    dist.destroy_process_group()
    if other is not None and other.wait():
        raise SystemExit("the other rank failed")
