"""Stock wheels of kernel libraries on the GPU, beside plain operators; each is skipped where it is not installed."""

import pytest

import shim_torch as torch

F = torch.nn.functional


def library(name):
    """The library, where there is a GPU: some cannot be imported without."""
    return pytest.importorskip(name, exc_type=ImportError)


def recurrence(q, k, v, decay):
    """S = exp(decay) S + k v^T, o = S^T q / sqrt(d), in double precision: [batch, time, heads, width]."""
    q, k, v, decay = (t.double().cpu() for t in (q, k, v, decay))
    state = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3], dtype=torch.float64)
    out = []
    for t in range(q.shape[1]):
        state = state * decay[:, t].exp()[..., None] + k[:, t, :, :, None] * v[:, t, :, None, :]
        out.append((q[:, t, :, :, None] * state).sum(-2) * q.shape[-1] ** -0.5)
    return torch.stack(out, 1)


def test_fla(seeded):
    library("fla")
    from fla.ops.gla import chunk_gla, fused_recurrent_gla

    inputs = [torch.randn(2, 64, 2, 32, device="cuda", requires_grad=True) for _ in range(4)]
    outcomes = []
    for operator in (fused_recurrent_gla, chunk_gla, lambda q, k, v, g: (recurrence(q, k, v, g),)):
        out = operator(*inputs[:3], F.logsigmoid(inputs[3]))[0]
        outcomes.append((out, *torch.autograd.grad(out.double().sum(), inputs)))
    for operator, tolerance in zip(outcomes[:2], (1e-3, 2e-2), strict=True):
        for ours, exact in zip(operator, outcomes[2], strict=True):
            error = (ours.cpu().double() - exact.cpu().double()).norm() / exact.cpu().double().norm()
            assert error.item() < tolerance


def test_gemlite(seeded):
    library("gemlite")
    from gemlite.helper import A16W8_INT8

    layer = torch.nn.Linear(256, 128, bias=True, device="cuda", dtype=torch.float16)
    for rows in (1, 16, 96):
        x = torch.randn(rows, 256, device="cuda", dtype=torch.float16)
        exact = layer(x)
        quantized = A16W8_INT8(device="cuda:0", dtype=torch.float16).from_linear(layer, del_orig=False)
        assert ((quantized(x) - exact).norm() / exact.norm()).item() < 1e-2


def test_tvm_ffi(tmp_path, monkeypatch):
    library("tvm_ffi")
    import tvm_ffi

    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    exchanged = tvm_ffi.from_dlpack(x)
    assert tuple(exchanged.shape) == (2, 3) and "cuda" in str(exchanged.device)
    again = torch.from_dlpack(exchanged)
    assert again.data_ptr() == x.data_ptr() and torch.equal(again, x)
    same = tvm_ffi.convert(lambda t: t)(x)
    assert isinstance(same, torch.Tensor) and same.data_ptr() == x.data_ptr()


def test_flashinfer(seeded):
    flashinfer = library("flashinfer")
    x = torch.randn(16, 512, device="cuda", dtype=torch.float16)
    w = torch.randn(512, device="cuda", dtype=torch.float16)
    exact = F.rms_norm(x.float(), (512,), w.float(), 1e-6)
    torch.testing.assert_close(flashinfer.norm.rmsnorm(x, w).float(), exact, rtol=2e-3, atol=2e-3)
    q = torch.randn(8, 64, device="cuda", dtype=torch.float16)
    k, v = (torch.randn(100, 2, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    out = flashinfer.single_decode_with_kv_cache(q, k, v)
    keys, values = (t.repeat_interleave(4, 1).float() for t in (k, v))
    scores = torch.einsum("hd,khd->hk", q.float(), keys) / 8
    exact = torch.einsum("hk,khd->hd", scores.softmax(-1), values)
    torch.testing.assert_close(out.float(), exact, rtol=2e-3, atol=2e-3)


def test_tilelang(seeded):
    tilelang = library("tilelang")
    from tilelang import language as T

    size, block, depth = 256, 64, 32

    @T.prim_func
    def matmul(
        a: T.Tensor((size, size), "float16"),
        b: T.Tensor((size, size), "float16"),
        c: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            a_shared = T.alloc_shared((block, depth), "float16")
            b_shared = T.alloc_shared((depth, block), "float16")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            for k in T.Pipelined(size // depth, num_stages=2):
                T.copy(a[by * block, k * depth], a_shared)
                T.copy(b[k * depth, bx * block], b_shared)
                T.gemm(a_shared, b_shared, total)
            T.copy(total, c[by * block, bx * block])

    kernel = tilelang.compile(matmul, [2], target="cuda")
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-2, atol=1e-2)


def test_quack(seeded):
    library("quack")
    from quack.rmsnorm import rmsnorm
    from quack.softmax import softmax

    x = torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16)
    torch.testing.assert_close(softmax(x), x.softmax(-1), rtol=2e-2, atol=1e-3)
    w = torch.randn(1024, device="cuda")
    exact = F.rms_norm(x.float(), (1024,), w, 1e-6).to(x.dtype)
    torch.testing.assert_close(rmsnorm(x, w), exact, rtol=2e-2, atol=2e-2)
