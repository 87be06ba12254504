"""What test_simulated_two_devices.py runs: two simulated devices, whose driver refuses what mixes their contexts."""

import ctypes
import re

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch._impl.native import _core

driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_calls.restype = ctypes.c_char_p
ONE = "cuda:1"


def calls(f):
    """What f has called, with the streams: "-" is the default one of the device before it."""
    driver.simulated_trace(1)
    f()
    told = driver.simulated_calls().decode()
    driver.simulated_trace(0)
    return [c for c in told.split("; ") if c and not c.startswith("launch")]


def the_driver_refuses():
    """The simulated driver is as strict as the real one: else the other checks would say nothing."""
    handle, on_zero, on_one, event = (ctypes.c_void_p() for _ in range(4))
    for index, stream in ((0, on_zero), (1, on_one)):
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(handle), index) == 0
        assert driver.cuCtxSetCurrent(handle) == 0
        assert driver.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0) == 0
    memory, pooled = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0  # of device 1, which is current
    assert driver.cuMemAllocAsync(ctypes.byref(pooled), ctypes.c_size_t(64), on_zero) == 400
    assert driver.cuEventCreate(ctypes.byref(event), 2) == 0
    assert driver.cuEventRecord(event, on_zero) == 400 and driver.cuEventRecord(event, on_one) == 0
    assert driver.cuStreamWaitEvent(on_zero, event, 0) == 0
    one = (memory, ctypes.c_size_t(64))
    assert driver.cuMemsetD8Async(memory, 0, ctypes.c_size_t(64), on_zero) == 400
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(handle), 0)
    driver.cuCtxSetCurrent(handle)
    assert driver.cuMemsetD8Async(one[0], 0, one[1], on_zero) == 1
    assert driver.cuMemcpyAsync(memory, memory, ctypes.c_size_t(64), None) == 1
    driver.cuCtxSetCurrent(None)
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 201


def copies():
    torch.cuda.set_device(0)
    a = torch.tensor([1.0, 2.0, 3.0]).to("cuda:0")
    made = []
    told = calls(lambda: made.append(a.to(ONE)))
    order = ["record 1 -", "wait 0 -", "peer copy 0 -", "record 0 -", "wait 1 -"]
    assert told == order, told  # after what the target's stream holds, and before what it gets next
    assert made[0].tolist() == [1.0, 2.0, 3.0] and made[0].device.index == 1
    side = torch.cuda.Stream(device=0)
    b = torch.zeros(3, device=ONE)
    with torch.cuda.stream(side):
        told = calls(lambda: b.copy_(a))
    assert [re.sub(r"\d+$", "s", c) for c in told] == [
        "record 1 -",
        "wait 0 s",
        "peer copy 0 s",
        "record 0 s",
        "wait 1 -",
    ]
    assert b.tolist() == [1.0, 2.0, 3.0] and torch.cuda.current_device() == 0
    back = torch.empty(3, device="cuda:0").copy_(b)
    assert back.tolist() == [1.0, 2.0, 3.0]


def copies_without_peers():
    """Where the hardware has no way from GPU to GPU the driver carries copies over through the host."""
    assert not torch.cuda.can_device_access_peer(0, 1)
    a = torch.tensor([1.0, 2.0, 3.0]).to("cuda:0")
    told = calls(lambda: a.to(ONE))
    assert "staged copy 0 -" in told and a.to(ONE).tolist() == [1.0, 2.0, 3.0]


def memory():
    torch.cuda.set_device(0)
    x = torch.empty(1000, dtype=torch.uint8, device=ONE)
    assert torch.cuda.memory_allocated(1) == 1024 and torch.cuda.memory_allocated(0) == 0
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved(ONE) == 2 << 20
    x.record_stream(torch.cuda.current_stream(0))  # another stream than the default one of its own device
    driver.simulated_events_wait(1)
    told = calls(lambda: x.set_(torch.empty(0, dtype=torch.uint8, device=ONE)))
    assert "record 0 -" in told, told
    assert torch.cuda.memory_stats(1)["active.all.current"] == 1
    driver.simulated_events_wait(0)
    y = torch.empty(10, device=ONE)
    assert torch.cuda.memory_stats(1)["active.all.current"] == 1
    torch.cuda.reset_peak_memory_stats(1)
    del y
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved(1) == 0 and torch.cuda.max_memory_allocated(1) == 512
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.empty(1, device="cuda:2")


def products():
    """Handles, plans, workspaces and kernels are each device's own, whichever is current."""
    torch.manual_seed(0)
    x, w, b = torch.randn(24, 32), torch.randn(16, 32), torch.randn(16)
    for current in (0, 1):
        with torch.cuda.device(current):
            for device in ("cuda:0", ONE):
                for _ in range(4):  # measured at the third, launched directly after
                    given = [t.to(device).requires_grad_() for t in (x, w, b)]
                    y = F.linear(*given)
                    assert y.device == torch.device(device) and torch.cuda.current_device() == current
                    torch.testing.assert_close(y.cpu(), F.linear(x, w, b), rtol=1e-4, atol=1e-4)
                y.backward(torch.ones(24, 16, device=device))
                torch.testing.assert_close(given[1].grad.cpu(), x.sum(0).expand(16, 32), rtol=1e-4, atol=1e-4)
    status = _core.gemm_status()
    status = _core.gemm_status()
    assert status["cublaslt"] and status["direct"] and status["own_kernels"], status


def streams():
    torch.cuda.set_device(0)
    s, e = torch.cuda.Stream(device=1), torch.cuda.Event()
    told = calls(lambda: e.record(s))
    assert told[0].startswith("record 1 ") and e.device == torch.device(ONE)
    assert calls(lambda: torch.cuda.current_stream().wait_event(e)) == ["wait 0 -"]
    assert calls(lambda: torch.cuda.default_stream(1).wait_event(e)) == ["wait 1 -"]
    with torch.cuda.stream(s):
        assert torch.cuda.current_device() == 1
        assert torch.zeros(3, device="cuda").device.index == 1
    assert torch.cuda.current_device() == 0 and torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
    with pytest.raises(RuntimeError, match="Event device 1 does not match recording stream's device 0"):
        e.record()
    s.synchronize()
    torch.cuda.synchronize(ONE)
    assert s.query() and e.query()
    graph = torch.cuda.CUDAGraph()
    graph._device, graph._exec = 1, 1
    assert calls(graph.replay) == ["graph 1 -"]
    graph._exec = 0


def backward():
    """Each node on its device and on the stream of its forward; the caller's streams wait for them in the end."""
    torch.cuda.set_device(0)
    x = torch.ones(4, 8, device=ONE, requires_grad=True)
    w = torch.ones(8, 8, device=ONE, requires_grad=True)
    seen = []
    side = torch.cuda.Stream(device=1)
    y = F.linear(x, w)
    y.register_hook(lambda g: seen.append((torch.cuda.current_device(), torch.cuda.current_stream(1) == side)))
    torch.autograd.backward(y, torch.ones(4, 8, device=ONE))
    with torch.cuda.stream(side):
        y = F.linear(x, w)
        y.register_hook(lambda g: seen.append((torch.cuda.current_device(), torch.cuda.current_stream() == side)))
    g = torch.ones(4, 8, device=ONE)
    told = calls(lambda: torch.autograd.backward(y, g))
    assert seen == [(1, False), (1, True)] and torch.cuda.current_device() == 0
    number = next(c for c in told if c.startswith("wait 1 ") and c != "wait 1 -").split()[-1]
    assert told[0] == "record 1 -" and told[1] == f"wait 1 {number}", told  # the gradient is the caller's
    assert f"record 1 {number}" in told and told[-1] == "wait 1 -", told  # and so is the result
    assert x.grad.tolist() == [[16.0] * 8] * 4
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


def one_device():
    """With one device nothing of this is asked."""
    assert torch.cuda.device_count() == 1
    x = torch.ones(4, 8, device="cuda", requires_grad=True)
    told = calls(lambda: F.linear(x, x).backward(torch.ones(4, 4, device="cuda")))
    assert not any(c.startswith(("record", "wait")) for c in told), told
