"""What the ranks run that look at the streams and the memory of collectives, on the tests' own driver and library."""

from __future__ import annotations

import contextlib
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


def gathers(rank: int, number: int, folder: Any, dtype: str) -> dict[str, Any]:
    """What ``fully_shard``'s gathers keep where no stream is seen to end, and how many are where one before was.

    "early" are those among them that come after less than what was sent there, and read from there.
    """
    from shim_torch._impl.distributed import sharded_parameters
    from shim_torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    library, driver = ctypes.CDLL(os.environ["SHIM_NCCL_PATH"]), ctypes.CDLL("libcuda.so.1")
    library.simulated_nccl_stream.restype = ctypes.c_void_p
    driver.simulated_seen.argtypes, driver.simulated_seen.restype = [ctypes.c_void_p] * 2, ctypes.c_long
    begin(rank, number, folder)
    policy = MixedPrecisionPolicy(param_dtype=getattr(torch, dtype))
    net = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]).cuda()
    for layer in net:
        fully_shard(layer, mp_policy=policy)
    fully_shard(net, mp_policy=policy)
    found: dict[str, Any] = {"again": 0, "early": 0, "kept": [], "peaks": []}
    left: dict[int, list[tuple[Any, int]]] = {}

    def calls(stream: Any) -> tuple[Any, int]:
        return stream, driver.simulated_seen(stream, stream)

    class Seen(sharded_parameters.Gathering):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            asking = torch.cuda.current_stream().cuda_stream
            self.places = [t.data_ptr() for t in (self._out, self._cast) if t is not None]
            self.sent = calls(library.simulated_nccl_stream())
            for place in left.keys() & self.places:
                found["again"] += 1
                found["early"] += any(driver.simulated_seen(asking, s) < n for s, n in left[place])

        @contextlib.contextmanager
        def awaited(self) -> Any:
            with super().awaited() as gathered:
                yield gathered
                read = calls(torch.cuda.current_stream().cuda_stream)
            left.update(dict.fromkeys(self.places, [self.sent, read]))

    sharded_parameters.Gathering = Seen
    x = here(torch.ones(2, 64))
    for step in range(4):
        if step == 1:
            driver.simulated_events_wait(1)
        torch.cuda.reset_peak_memory_stats()
        net(x).sum().backward()
        net.zero_grad()
        found["peaks"].append(torch.cuda.max_memory_allocated())
        found["kept"].append(torch.cuda.memory_allocated())
        reserved = torch.cuda.memory_reserved()
        found.setdefault("reserved", reserved)
    found["reserved"] = reserved - found["reserved"]
    net[0].unshard(async_op=True)
    net[0].reshard()  # for nothing
    found["kept"].append(torch.cuda.memory_allocated())
    driver.simulated_events_wait(0)
    return found
