"""The cache of device memory, on the simulated driver: reuse, splitting, other streams, graphs, out of memory, figures."""

import ctypes
import gc
import threading

import pytest

import shim_torch as torch
from shim_torch._impl.cuda import graphs as cuda_graphs
from shim_torch._impl.native import _core

driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_memory.restype = ctypes.c_size_t
driver.simulated_room.argtypes = [ctypes.c_size_t]
MIB = 1 << 20


def block(n, stream=None):
    with torch.cuda.stream(stream):
        return torch.empty(n, dtype=torch.uint8, device="cuda")


def stats(name):
    return torch.cuda.memory_stats()[name]


def reuse():
    a = block(1000)
    address = a.data_ptr()
    assert address % 512 == 0 and torch.cuda.memory_allocated() == 1024
    assert torch.cuda.memory_reserved() == 2 * MIB == driver.simulated_memory()
    del a
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved() == 2 * MIB
    b = block(900)
    assert b.data_ptr() == address, "the block is reused"
    c, d = block(600), block(10)
    assert c.data_ptr() == address + 1024 and d.data_ptr() == address + 2048, "cut from one segment"
    del c
    assert stats("inactive_split.all.current") == 2
    e = block(512)
    assert e.data_ptr() == address + 1024, "the smallest block that fits"
    big = block(3 * MIB)
    assert torch.cuda.memory_reserved() == 22 * MIB and stats("segment.large_pool.current") == 1
    own = block(33 * MIB + 1)
    assert torch.cuda.memory_reserved() == 56 * MIB
    assert (
        stats("allocation.all.current") == 5 and stats("requested_bytes.all.current") == 900 + 10 + 512 + 36 * MIB + 1
    )
    pieces = torch.cuda.memory_snapshot()
    assert sum(s["total_size"] for s in pieces) == 56 * MIB
    assert sum(s["allocated_size"] for s in pieces) == torch.cuda.memory_allocated()
    assert all(sum(p["size"] for p in s["blocks"]) == s["total_size"] for s in pieces)
    del b, d, e, big, own
    assert stats("inactive_split.all.current") == 0, "neighbours are merged"
    assert stats("active_bytes.all.current") == 0
    torch.cuda.empty_cache()
    assert driver.simulated_memory() == 0 == torch.cuda.memory_reserved()
    assert torch.cuda.max_memory_reserved() == 56 * MIB
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_reserved() == 0
    assert torch.cuda.memory.memory_stats_as_nested_dict()["segment"]["all"]["allocated"] == 3


def copies():
    """A copy that was not asked to be asynchronous is made when the call returns: its source may change then."""
    driver.simulated_copies_wait(1)
    source = torch.tensor([1.0, 2.0, 3.0])
    x, y = source.to("cuda"), torch.zeros(3, dtype=torch.float64).to("cuda")
    y.copy_(source)
    made = torch.tensor([1, 2, 3], device="cuda")
    source.fill_(7.0)
    assert x.tolist() == y.tolist() == made.tolist() == [1, 2, 3]
    later = source.to("cuda", non_blocking=True)
    source.fill_(8.0)
    assert later.tolist() == [8.0] * 3, "asked for: the source is read when the GPU comes to it"


def many_streams():
    """What one stream's blocks were waited for with serves the next stream's."""
    side = [torch.cuda.Stream() for _ in range(32)]
    assert len({s.cuda_stream for s in side}) > 16
    before = driver.simulated_events()
    for s in side * 2:
        a = block(1000)
        a.record_stream(s)
        del a
        block(1000)  # which asks for what was reached
    assert driver.simulated_events() - before <= 1
    assert torch.cuda.memory_allocated() == 0 == stats("active.all.current")


def streams():
    side = torch.cuda.Stream()
    a = block(1000)
    address = a.data_ptr()
    del a
    b = block(1000, side)
    assert b.data_ptr() != address, "another stream's blocks are its own"
    on_side = b.data_ptr()
    b.record_stream(torch.cuda.current_stream())
    driver.simulated_events_wait(1)
    del b
    assert stats("active.all.current") == 1 and torch.cuda.memory_allocated() == 0
    c = block(1000, side)
    assert c.data_ptr() != on_side, "work of the other stream is not done"
    driver.simulated_events_wait(0)
    d = block(1000, side)
    assert d.data_ptr() == on_side
    c.record_stream(side)  # its own
    address = c.data_ptr()
    driver.simulated_events_wait(1)
    del c
    assert block(1000, side).data_ptr() == address
    driver.simulated_events_wait(0)


def graphs():
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    before = block(1000, side)
    outside = before.data_ptr()
    pool = torch.cuda.graph_pool_handle()
    with torch.cuda.stream(side):
        for graph in (first, second):
            graph._device, graph._stream = 0, side.cuda_stream
            token = graph._token = pool
            shared = cuda_graphs._pools.get(token, [0, 0])
            graph._pool = _core.cuda_graph_begin(0, side.cuda_stream, 2, shared[0])
            cuda_graphs._pools[token] = [graph._pool, shared[1] + 1]
            del before
            kept = block(1000, side)
            assert kept.data_ptr() != outside, "a graph's memory is its own"
            temporary = block(2000, side)
            again = temporary.data_ptr()
            del temporary
            assert block(2000, side).data_ptr() == again, "and is reused within the capture"
            torch.cuda.empty_cache()
            graph._exec = _core.cuda_graph_end(0, side.cuda_stream, graph._pool)
            before = block(1000, side)
            assert before.data_ptr() not in (again, kept.data_ptr())
            outside = before.data_ptr()
    assert torch.cuda.memory_reserved() == 4 * MIB, "two graphs share a pool"
    first.reset()
    del kept
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 4 * MIB, "the second one replays on it"
    last = second.reset()
    assert torch.cuda.memory_reserved() == 2 * MIB and last is None


def exhaustion():
    driver.simulated_room(100 * MIB)
    a = block(60 * MIB)
    del a
    b = block(80 * MIB)
    assert stats("num_alloc_retries") == 1 and torch.cuda.memory_reserved() == 80 * MIB
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 30.00 MiB.*80.00 MiB is in use"):
        block(30 * MIB)
    assert stats("num_ooms") == 1
    del b
    assert block(90 * MIB).numel() == 90 * MIB
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(10 * MIB / 2**34)
    with pytest.raises(torch.OutOfMemoryError):
        block(11 * MIB)
    torch.cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 1048576.00 TiB"):
        block(1 << 60)


def threads():
    def work():
        side = torch.cuda.Stream()
        for i in range(300):
            t = block(100 + 7000 * (i % 37), side)
            kept.append(t)
            if len(kept) > 40:
                kept.pop(0)

    kept = []
    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert torch.cuda.memory_allocated() == sum((t.numel() + 511) // 512 * 512 for t in kept)
    kept.clear()
    gc.collect()
    assert torch.cuda.memory_allocated() == 0
    torch.cuda.empty_cache()
    assert driver.simulated_memory() == 0


def uncached():
    a = block(1000)
    assert driver.simulated_memory() == 1024 == torch.cuda.memory_reserved()
    del a
    assert driver.simulated_memory() == 0 == torch.cuda.memory_reserved() == torch.cuda.memory_allocated()


def by_address():
    """The functions that CuPy is given."""
    get, drop = _core.cuda_allocation_functions()
    get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(get)
    drop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(drop)
    p = get(None, 5000, 0)
    assert torch.cuda.memory_allocated() == 5120
    drop(None, p, 0)
    drop(None, p, 0)  # unknown by now
    assert torch.cuda.memory_allocated() == 0 and block(5000).data_ptr() == p
    driver.simulated_room(2 * MIB)
    assert get(None, 50 * MIB, 0) is None
