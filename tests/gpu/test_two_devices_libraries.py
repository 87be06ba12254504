"""Libraries on the second of two GPUs while the first is current: CuPy, Triton, cuDNN, cuFFT, and what torch.cuda says of a device."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn

pytestmark = [
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
    pytest.mark.usefixtures("the_current_device_stays"),
]
ONE = "cuda:1"


def same(f, *args, close=1e-4):
    """f on the CPU and on device 1, with device 0 current."""
    expected, found = f(*args), f(*(t.to(ONE) for t in args))
    for x, y in [(found, expected)] if isinstance(found, torch.Tensor) else zip(found, expected, strict=True):
        assert x.device == torch.device(ONE), x.device
        torch.testing.assert_close(x.cpu(), y, rtol=close, atol=close)


def test_dlpack_of_cupy():
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        a = cupy.arange(12, dtype=cupy.float32).reshape(3, 4) * 2
    assert torch.cuda.current_device() == 0
    for t in (torch.from_dlpack(a), torch.as_tensor(a), torch.utils.dlpack.from_dlpack(a)):
        assert t.device == torch.device(ONE) and t.data_ptr() == a.data.ptr
        assert (t + 1).sum().item() == 144
    back = cupy.from_dlpack(torch.ones(5, device=ONE) * 3)
    assert back.device.id == 1
    with cupy.cuda.Device(1):
        assert float(back.sum()) == 15


def test_current_devices_of_cupy_and_ours_are_one():
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        assert torch.cuda.current_device() == 1 and torch.ones(2, device="cuda").device.index == 1
    with torch.cuda.device(1):
        assert cupy.cuda.Device().id == 1 and cupy.ones(2).device.id == 1
        with torch.cuda.stream(torch.cuda.Stream()):
            assert cupy.cuda.get_current_stream().ptr == torch.cuda.current_stream().cuda_stream


def test_operators_by_cupy():
    x = torch.randn(6, 6)
    same(lambda t: t.clone().fill_diagonal_(3), x)
    same(lambda t: t.cumprod(0), x)
    same(lambda t: torch.linalg.solve(t + 9 * torch.eye(6, device=t.device), t), x)
    same(lambda t: torch.linalg.cholesky(t @ t.t() + torch.eye(6, device=t.device)), x)
    assert torch.arange(0, 3, 0.5, device=ONE).tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    assert torch.linspace(0, 1, 3, device=ONE).tolist() == [0, 0.5, 1]


def test_complex_numbers():
    same(lambda t: (t * t.conj()).real + torch.view_as_real(t).sum(-1), torch.randn(4, 4, dtype=torch.complex64))
    same(lambda t: torch.fft.ifft2(torch.fft.fft2(t)).real, torch.randn(16, 16))


def test_convolutions_and_recurrent_layers():
    torch.backends.cudnn.allow_tf32 = False
    same(lambda x, w: F.conv2d(x, w, padding=1), torch.randn(2, 3, 12, 12), torch.randn(5, 3, 3, 3), close=1e-3)
    cell = nn.LSTM(4, 6, batch_first=True)
    x = torch.randn(2, 5, 4)
    expected = cell(x)[0]
    there = cell.to(ONE)
    found = there(x.to(ONE))[0]
    found.sum().backward()
    assert all(p.grad.device == torch.device(ONE) for p in there.parameters())
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)


def test_attention():
    q, k, v = (torch.randn(2, 4, 128, 64) for _ in range(3))
    same(F.scaled_dot_product_attention, q, k, v, close=1e-2)


def test_triton_on_device_1():
    kernels = pytest.importorskip("gpu_kernels")
    x, y = torch.rand(5000, device="cuda"), torch.rand(5000, device="cuda")
    torch.testing.assert_close(kernels.add(x, y), x + y)
    for _ in range(3):
        with torch.cuda.device(1):
            x, y = torch.rand(5000, device="cuda"), torch.rand(5000, device="cuda")
            found = kernels.add(x, y)
            assert found.device == torch.device(ONE)
            torch.testing.assert_close(found, x + y)
            with torch.cuda.stream(torch.cuda.Stream()):
                x.fill_(2)
                assert kernels.add(x, x).unique().tolist() == [4.0]
    x = torch.ones(10, device="cuda:0")
    assert kernels.add(x, x).tolist() == [2.0] * 10


def test_data_parallel():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to("cuda:0")
    x = torch.randn(10, 8, device="cuda:0")
    expected = model(x)
    expected.square().sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    found = nn.DataParallel(model, device_ids=[0, 1])(x)
    assert found.device == torch.device("cuda:0")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    found.square().sum().backward()
    for p, w in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(p.grad, w, rtol=1e-3, atol=1e-4)


def test_broadcast_scatter_gather():
    from shim_torch.nn.parallel import comm

    x = torch.arange(12.0).view(4, 3).to("cuda:0")
    parts = comm.scatter(x, [0, 1])
    assert [p.device.index for p in parts] == [0, 1] and parts[1].tolist() == x[2:].tolist()
    assert (
        comm.gather(parts, destination=1).tolist() == x.tolist() and comm.gather(parts, destination=1).device.index == 1
    )
    copies = comm.broadcast(x, [0, 1])
    assert copies[1].device.index == 1 and comm.reduce_add(copies, destination=1).tolist() == (2 * x).tolist()
    assert [t.device.index for t in torch.cuda.comm.broadcast(x, [1, 0])] == [1, 0]


def test_autocast():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = F.linear(torch.randn(4, 8, device=ONE), torch.randn(2, 8, device=ONE, requires_grad=True))
    assert y.dtype is torch.bfloat16 and y.device == torch.device(ONE)
    y.float().sum().backward()
    scaler = torch.amp.GradScaler("cuda")
    w = torch.ones(3, device=ONE, requires_grad=True)
    o = torch.optim.SGD([w], lr=0.5)
    scaler.scale(w.sum()).backward()
    scaler.step(o)
    scaler.update()
    assert w.tolist() == [0.5] * 3


def test_what_is_said_of_a_device():
    for device in (1, ONE, torch.device(ONE)):
        assert torch.cuda.get_device_name(device) == torch.cuda.get_device_properties(device).name
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        assert torch.cuda.current_stream(device).device == torch.device(ONE)
        free, total = torch.cuda.mem_get_info(device)
        assert 0 < free <= total
    before, other = torch.cuda.memory_allocated(1), torch.cuda.memory_allocated(0)
    block = torch.empty(1 << 20, dtype=torch.uint8, device=ONE)
    assert torch.cuda.memory_allocated(ONE) == before + (1 << 20) and torch.cuda.memory_allocated() == other
    assert torch.cuda.max_memory_allocated(1) >= before + (1 << 20) and torch.cuda.memory_stats(1)["active.all.current"]
    del block
    assert torch.cuda.can_device_access_peer(0, 1) in (True, False)
    with torch.cuda.device_of(torch.ones(1, device=ONE)):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device(ONE), torch.cuda.device(None), torch.cuda.device(-1):
        assert torch.cuda.current_device() == 1
    with pytest.raises((RuntimeError, AssertionError), match="invalid device ordinal|Invalid device"):
        torch.cuda.set_device(torch.cuda.device_count())


def test_saved_and_loaded(tmp_path):
    x = torch.randn(5, device=ONE)
    torch.save({"x": x}, tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt")["x"].device == torch.device(ONE)
    moved = torch.load(tmp_path / "x.pt", map_location={ONE: "cuda:0"})["x"]
    assert moved.device == torch.device("cuda:0") and torch.equal(moved.cpu(), x.cpu())
    layer = nn.Linear(2, 2, device=ONE)
    layer.load_state_dict(nn.Linear(2, 2, device="cuda:0").state_dict())
    assert layer.weight.device == torch.device(ONE)
