"""Compiled operators on a GPU: streams, devices and memory of the stable C interface, and stock wheels of attention kernels.

The wheels: ``pip install --no-deps sgl-flash-mla==1.0.0 fa3_fwd==0.0.3 nvidia-cuda-runtime``.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy
from shim_torch._impl.native import stand_ins

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    path = tmp_path_factory.mktemp("abi") / "abi_cuda.so"
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", str(HERE / "cuda_extension.cpp"), "-o", str(path)]
    subprocess.run([*command, "-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-ltorch", "-ltorch_cuda"], check=True)
    torch.ops.load_library(path)
    return torch.ops.abi_cuda


def test_current_stream_is_torch_cuda_s(ops):
    x = torch.ones(3, device="cuda")
    assert ops.stream(x) == torch.cuda.current_stream().cuda_stream
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        assert ops.stream(x) == torch.cuda.current_stream().cuda_stream != 0


def test_operator_on_a_stream_that_the_library_sets(ops):
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    before = torch.cuda.current_stream().cuda_stream
    y, pooled = ops.on_pool_stream(x, x)
    assert pooled not in (0, before) and torch.cuda.current_stream().cuda_stream == before
    assert torch.equal(y.cpu(), (x * x).cpu())


def test_device_guard(ops):
    last = torch.cuda.device_count() - 1
    assert ops.device(last) == last
    assert torch.cuda.current_device() == 0


def test_item_and_blas_handle(ops):
    assert ops.item(torch.tensor(2**40, device="cuda")) == 2**40
    if importlib.util.find_spec("nvidia.cublas") is None and shutil.which("nvcc") is None:
        pytest.skip("cuBLAS is not installed")
    try:
        assert ops.blas() is True
    except RuntimeError as error:
        pytest.skip(str(error))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    """(batch, length, heads, size) in float64; fewer heads of k and v are shared."""
    share = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, share, 2), np.repeat(v, share, 2)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        n, m = scores.shape[-2:]
        scores = np.where(np.arange(m) > np.arange(n)[:, None] + m - n, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)


def random(rng, *shape):
    x = torch.from_numpy((rng.standard_normal(shape) * 0.5).astype(np.float32)).to("cuda").bfloat16()
    return x, x.float().cpu().numpy().astype(np.float64)


def close(found, expected):
    error = np.abs(found.float().cpu().numpy() - expected).max()
    assert error <= 0.02 * max(1.0, np.abs(expected).max()), error


@pytest.fixture(scope="module")
def fa3():
    if importlib.util.find_spec("fa3_fwd_interface") is None:
        pytest.skip("fa3_fwd is not installed")
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("FlashAttention 3 needs a Hopper GPU")
    token = enable_torch_proxy({"fa3_fwd_interface", "fa3_fwd"})
    import fa3_fwd_interface

    yield fa3_fwd_interface
    disable_torch_proxy(token)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "heads_k", "size"), [(8, 8, 64), (8, 2, 128)])
def test_flash_attention_3(fa3, causal, heads, heads_k, size):
    rng = np.random.default_rng(0)
    q, q64 = random(rng, 2, 200, heads, size)
    k, k64 = random(rng, 2, 200, heads_k, size)
    v, v64 = random(rng, 2, 200, heads_k, size)
    out = fa3.flash_attn_func(q, k, v, causal=causal)
    close(out[0] if isinstance(out, tuple) else out, attention(q64, k64, v64, size**-0.5, causal))


@pytest.fixture(scope="module")
def mla():
    if importlib.util.find_spec("flash_mla") is None:
        pytest.skip("sgl-flash-mla is not installed")
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the dense decoding kernels of FlashMLA are for Hopper GPUs")
    token = enable_torch_proxy({"flash_mla"})
    import flash_mla

    yield flash_mla
    disable_torch_proxy(token)


@pytest.mark.parametrize("causal", [False, True])
def test_flash_mla_dense_decode(mla, causal):
    from flash_mla.flash_mla_interface import flash_mla_with_kvcache, get_mla_metadata

    rng = np.random.default_rng(1)
    batch, heads, size, value, block, length = 3, 64, 576, 512, 64, 256
    q, q64 = random(rng, batch, 1, heads, size)
    cache, cache64 = random(rng, batch * length // block, block, 1, size)
    table = torch.arange(batch * length // block, dtype=torch.int32, device="cuda").view(batch, -1)
    lengths = torch.tensor([256, 100, 17], dtype=torch.int32, device="cuda")
    meta, _ = get_mla_metadata()
    out, lse = flash_mla_with_kvcache(q, cache, table, lengths, value, meta, causal=causal, use_legacy=True)
    rows = cache64.reshape(batch, length, 1, size)
    for i, n in enumerate([256, 100, 17]):
        part = rows[i : i + 1, :n]
        close(out[i : i + 1], attention(q64[i : i + 1], part, part[..., :value], size**-0.5, False))
    assert lse.shape == (batch, heads, 1)


def test_flash_mla_sparse_prefill(mla):
    from flash_mla.flash_mla_interface import flash_mla_sparse_fwd

    rng = np.random.default_rng(2)
    queries, keys, heads, size, top = 32, 512, 64, 576, 128
    q, q64 = random(rng, queries, heads, size)
    kv, kv64 = random(rng, keys, 1, size)
    chosen = np.stack([rng.permutation(keys)[:top] for _ in range(queries)]).astype(np.int32)
    indices = torch.from_numpy(chosen[:, None]).to("cuda")
    out = flash_mla_sparse_fwd(q, kv, indices, size**-0.5, use_legacy=True)[0]
    for i in range(0, queries, 8):
        part = kv64[chosen[i], 0][None, :, None]
        close(out[i], attention(q64[None, i : i + 1], part, part[..., :512], size**-0.5, False)[0, 0])
