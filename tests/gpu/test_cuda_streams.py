"""Streams, events and graphs; the current stream is CuPy's."""

import pytest

import shim_torch as torch

cupy = pytest.importorskip("cupy")


def test_the_current_stream_is_cupys():
    torch.ones(1, device="cuda") + 1  # CuPy is linked when it is first used
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        assert cupy.cuda.get_current_stream().ptr == s.cuda_stream
        assert torch.cuda.current_stream() == s
    c = cupy.cuda.Stream(non_blocking=True)
    with c:
        assert torch.cuda.current_stream().cuda_stream == c.ptr
    assert torch.cuda.current_stream().cuda_stream == cupy.cuda.get_current_stream().ptr


def test_events_time_work():
    x = torch.randn(1 << 22, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(10):
        x = x * 1.0001
    end.record()
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 10000


def test_work_on_one_stream_waits_for_another():
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(a):
        torch.cuda._sleep(20_000_000)
        x.fill_(3.0)
    b.wait_stream(a)
    with torch.cuda.stream(b):
        y = x + 1
    b.synchronize()
    assert y.min().item() == 4.0


def test_graph_capture_and_replay():
    x = torch.ones(1024, device="cuda")
    y = torch.empty_like(x)
    torch.mul(x, 2.0, out=y)  # warm up
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = x * 2.0
        y.copy_(z + 1.0)
    x.fill_(5.0)
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [11.0] * 1024
    x.fill_(1.0)
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [3.0] * 1024


def test_device_properties():
    p = torch.cuda.get_device_properties(0)
    assert p.multi_processor_count > 0
    assert torch.cuda.get_device_capability() == (p.major, p.minor)
    assert p.name in torch.cuda.get_device_name()
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total == p.total_memory or abs(total - p.total_memory) < 2 << 30
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(99)


def test_the_guard_of_generated_code():
    assert torch.cuda._exchange_device(0) == 0
    with torch.cuda._DeviceGuard(0):
        assert torch.cuda.current_device() == 0
        assert torch.ones(2, device="cuda").device.index == 0
    assert torch.cuda._maybe_exchange_device(0) == 0


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_guard_changes_the_device():
    with torch.cuda._DeviceGuard(1):
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda._exchange_device(1) == 0
    assert torch.cuda._maybe_exchange_device(0) == 1


def test_graphs_share_memory_and_keep_it():
    x = torch.ones(1 << 16, device="cuda")
    x * 2.0  # compiled before the capture
    torch.cuda.synchronize()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        a = ((x * 2.0) * 2.0) * 2.0
    reserved = torch.cuda.memory_reserved()
    with torch.cuda.graph(second, pool=first.pool()):
        b = ((x * 3.0) * 3.0) * 3.0
    assert torch.cuda.memory_reserved() == reserved
    torch.cuda.empty_cache()
    others = [torch.full((1 << 16,), -1.0, device="cuda") for _ in range(20)]
    first.replay()
    second.replay()  # what first held for a while is second's now; what is still in use is not
    assert a.cpu().unique().tolist() == [8.0] and b.cpu().unique().tolist() == [27.0]
    assert all(t.cpu().unique().tolist() == [-1.0] for t in others)


def test_cupys_allocations_in_a_capture_belong_to_the_graph():
    x = torch.ones(1000, device="cuda")
    torch.cumprod(x, 0)  # by CuPy
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.cumprod(x * 1.0, 0)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert y.sum().item() == 1000


def test_streams_below_torch_cuda():
    """What PyTorch's test suites do around each test: another stream for every device, and the old ones back."""
    before, device = torch.cuda.current_stream(), torch._C._cuda_getDevice()
    other = torch.cuda.Stream()
    place = {"stream_id": other.stream_id, "device_index": other.device_index, "device_type": other.device_type}
    torch._C._cuda_setStream(**place)
    try:
        assert torch.cuda.current_stream() == other and torch._C._cuda_getCurrentStream(device) == tuple(place.values())
        assert (torch.arange(5, device="cuda") + 1).tolist() == [1, 2, 3, 4, 5]
    finally:
        torch._C._cuda_setStream(
            stream_id=before.stream_id, device_index=before.device_index, device_type=before.device_type
        )
    assert torch.cuda.current_stream() == before and torch._C._cuda_getDevice() == device
    assert torch._C._cuda_getDefaultStream(device) == (0, device, 1) and not torch._C._cuda_isCurrentStreamCapturing()
