"""What the ranks run that look at the streams and the memory of collectives, on the tests' own driver and library."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

from collective_programs import dist, torch
from device_programs import begin, here


def on_streams(rank: int, number: int, folder: Any) -> Any:
    """Which stream the library is given, and what an asynchronous work keeps; of the simulated library only."""
    library = ctypes.CDLL(os.environ["SHIM_NCCL_PATH"])
    library.simulated_nccl_stream.restype = ctypes.c_void_p
    begin(rank, number, folder)
    x = here(torch.ones(1000))
    side = torch.cuda.Stream()
    found = []
    dist.all_reduce(x)
    found.append(library.simulated_nccl_stream() is None)  # the default stream, which is current
    with torch.cuda.stream(side):
        dist.all_reduce(x)
    found.append(library.simulated_nccl_stream() == side.cuda_stream)
    before = torch.cuda.memory_allocated()
    y = torch.empty(4096, device="cuda")
    work = dist.all_reduce(y, async_op=True)
    own = library.simulated_nccl_stream()
    found.append(own is not None and own != side.cuda_stream)
    del y
    work._tensors.clear()
    kept = torch.cuda.memory_allocated() - before
    work.wait()
    found += [kept, torch.cuda.memory_allocated() - before]
    found += _awaited_elsewhere(side, before)
    with dist._coalescing_manager(device=torch.device("cuda")):
        for _ in range(3):
            dist.all_reduce(x)
    found.append(library.simulated_nccl_parts())
    return found


def _awaited_elsewhere(side: Any, before: int) -> list[int]:
    """What is kept of a tensor whose work another stream waits for: while the device uses it, and after that."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.simulated_events_wait(1)
    z = torch.empty(4096, device="cuda")
    work = dist.all_reduce(z, async_op=True)
    del z
    work._tensors.clear()
    with torch.cuda.stream(side):
        work.wait()
    kept = torch.cuda.memory_allocated() - before
    driver.simulated_events_wait(0)
    end = time.monotonic() + 20
    while torch.cuda.memory_allocated() > before and time.monotonic() < end:
        time.sleep(0.01)
    return [kept, torch.cuda.memory_allocated() - before]
