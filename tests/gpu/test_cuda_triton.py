"""Triton compiles and launches on our tensors, on our current stream."""

import pytest

import shim_torch as torch

kernels = pytest.importorskip("gpu_kernels") if torch.cuda.is_available() else None


def test_add_and_grid_lambda():
    x, y = torch.rand(98432, device="cuda"), torch.rand(98432, device="cuda")
    torch.testing.assert_close(kernels.add(x, y), x + y)


def test_launches_follow_the_current_stream():
    x = torch.zeros(1 << 20, device="cuda")
    one = torch.ones(1 << 20, device="cuda")
    kernels.add(x, one)
    torch.cuda.synchronize()
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        torch.cuda._sleep(50_000_000)
        x.fill_(5.0)
        out = kernels.add(x, one)  # on another stream it would read x before the fill
    s.synchronize()
    assert out.min().item() == 6.0


def test_autotune():
    x = torch.rand(100003, device="cuda")
    torch.testing.assert_close(kernels.scale(x, 2.0), x * 2.0)
    assert kernels.scale_kernel.best_config is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matmul(dtype):
    a = torch.randn(200, 96, device="cuda", dtype=dtype)
    b = torch.randn(96, 136, device="cuda", dtype=dtype)
    exact = a.double().cpu() @ b.double().cpu()
    torch.testing.assert_close(kernels.matmul(a, b).cpu().double(), exact.to(dtype).double(), rtol=2e-2, atol=2e-2)


def test_softmax_of_a_strided_input():
    x = torch.randn(37, 1500, device="cuda")[:, 100:881]
    torch.testing.assert_close(kernels.softmax(x), torch.softmax(x, dim=1))


def test_captured_in_a_graph():
    x, y = torch.ones(4096, device="cuda"), torch.ones(4096, device="cuda")
    kernels.add(x, y)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out = kernels.add(x, y)
    x.fill_(7.0)
    g.replay()
    torch.cuda.synchronize()
    assert out.tolist() == [8.0] * 4096


def test_driver_and_do_bench():
    import triton

    driver = triton.runtime.driver.active
    assert driver.get_active_torch_device() == torch.device("cuda", 0)
    assert driver.get_current_target().backend == "cuda"
    x = torch.rand(1 << 20, device="cuda")
    assert 0 < triton.testing.do_bench(lambda: kernels.add(x, x), warmup=5, rep=20) < 100


def test_a_cpu_tensor_is_refused():
    x = torch.ones(16)
    out = torch.ones(16)
    with pytest.raises(ValueError, match="cannot be accessed from Triton"):
        kernels.add_kernel[(1,)](x, x, out, 16, BLOCK=16)
