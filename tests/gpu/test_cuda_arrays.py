"""Triton kernels launched on a GPU with arrays of CuPy and JAX: their own memory, in order with their work."""

import importlib.util

import pytest

import shim_torch as torch

kernels = pytest.importorskip("gpu_kernels") if torch.cuda.is_available() else None


def launch(x, out, n):
    kernels.add_kernel[lambda meta: (-(-n // meta["BLOCK"]),)](x, x, out, n, BLOCK=1024)


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture
def jax(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    import jax

    if jax.default_backend() != "gpu":
        pytest.skip("this jax has no GPU")
    return jax


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_cupy_arrays(cupy, dtype):
    x, out = cupy.arange(5000).astype(dtype), cupy.zeros(5000, dtype=dtype)
    launch(x, out, 5000)
    assert (out == x + x).all()
    launch(x, torch.as_tensor(out), 5000)  # beside a tensor


def test_a_launch_is_in_order_with_cupys_stream(cupy):
    n = 1 << 20
    x, out = cupy.zeros(n, dtype="float32"), cupy.zeros(n, dtype="float32")
    launch(x, out, n)  # compiled
    with cupy.cuda.Stream(non_blocking=True) as stream:
        torch.cuda._sleep(50_000_000)
        x += 5
        launch(x, out, n)  # on another stream it would read x before the sum
        result = out.sum()
    stream.synchronize()
    assert result == 10 * n


def test_later_launches_with_arrays_go_through_the_dispatcher(cupy):
    from shim_torch_proxy.adapters.triton import dispatch

    x, out = cupy.ones(4096, dtype="float32"), cupy.zeros(4096, dtype="float32")
    launch(x, out, 4096)
    before = dispatch.launches()["fast"]
    launch(x, out, 4096)
    assert dispatch.launches()["fast"] == before + 1


def test_jax_arrays(jax):
    x, out = jax.numpy.arange(5000.0), jax.numpy.zeros(5000)
    launch(x, out, 5000)
    assert (out == x + x).all()  # JAX looks at once: the launch has waited


def test_host_arrays_say_what_to_call():
    import numpy as np

    x = np.zeros(8, dtype=np.float32)
    with pytest.raises(
        TypeError,
        match=r"got a numpy.ndarray in the memory of the host for argument 0.*torch\.as_tensor\(x, device='cuda'\)",
    ):
        launch(x, x, 8)
