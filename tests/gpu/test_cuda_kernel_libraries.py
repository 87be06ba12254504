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


def attention(q, k, v, causal=False):
    """In float32: [queries, heads, width] over [keys, key heads, width]; the last query sees all keys."""
    keys, values = (t.repeat_interleave(q.shape[1] // k.shape[1], 1).float() for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), keys) * q.shape[-1] ** -0.5
    if causal:
        seen = torch.ones(scores.shape[1:], dtype=torch.bool, device=q.device).tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~seen, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), values)


def test_flashinfer(seeded):
    flashinfer = library("flashinfer")
    x = torch.randn(16, 512, device="cuda", dtype=torch.float16)
    w = torch.randn(512, device="cuda", dtype=torch.float16)
    exact = F.rms_norm(x.float(), (512,), w.float(), 1e-6)
    torch.testing.assert_close(flashinfer.norm.rmsnorm(x, w).float(), exact, rtol=2e-3, atol=2e-3)
    q = torch.randn(8, 64, device="cuda", dtype=torch.float16)
    k, v = (torch.randn(100, 2, 64, device="cuda", dtype=torch.float16) for _ in range(2))
    out = flashinfer.single_decode_with_kv_cache(q, k, v)
    torch.testing.assert_close(out.float(), attention(q[None], k, v)[0], rtol=2e-3, atol=2e-3)


PAGE, PAGES = 16, [3, 7]  # of two sequences; of the last page of each a part is filled


def paged_cache():
    """Keys and values of two sequences in pages that lie anywhere, the tables that say where, and each sequence's own."""
    cache = torch.randn(sum(PAGES) + 2, 2, PAGE, 2, 128, device="cuda", dtype=torch.float16)
    places = torch.randperm(sum(PAGES) + 2)[: sum(PAGES)].to(torch.int32)
    ends, filled = torch.tensor([0, PAGES[0], sum(PAGES)], dtype=torch.int32), torch.tensor([5, 16], dtype=torch.int32)
    own = []
    for n, pages in enumerate(places.split(PAGES)):
        length = (PAGES[n] - 1) * PAGE + int(filled[n])
        own.append([t.flatten(0, 1)[:length] for t in cache[pages.long().cuda()].unbind(1)])
    return cache, [t.cuda() for t in (ends, places, filled)], own


def test_flashinfer_decodes_a_batch(seeded):
    flashinfer = library("flashinfer")
    cache, tables, own = paged_cache()
    q = torch.randn(2, 8, 128, device="cuda", dtype=torch.float16)
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(torch.empty(2**26, dtype=torch.uint8, device="cuda"), "NHD")
    wrapper.plan(*tables, 8, 2, 128, PAGE, q_data_type=torch.float16, kv_data_type=torch.float16)
    out = wrapper.run(q, cache)
    for n, (k, v) in enumerate(own):
        torch.testing.assert_close(out[n].float(), attention(q[n : n + 1], k, v)[0], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("backend", ["fa2", "fa3"])
def test_flashinfer_prefills_pages(backend, seeded):
    flashinfer = library("flashinfer")
    cache, tables, own = paged_cache()
    q = torch.randn(60, 8, 128, device="cuda", dtype=torch.float16)
    starts = torch.tensor([0, 20, 60], dtype=torch.int32, device="cuda")
    space = torch.empty(2**27, dtype=torch.uint8, device="cuda")
    wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(space, "NHD", backend=backend)
    wrapper.plan(starts, *tables, 8, 2, 128, PAGE, causal=True, q_data_type=torch.float16, kv_data_type=torch.float16)
    out = wrapper.run(q, cache)
    for rows, (k, v) in zip(q.split([20, 40]), own, strict=True):
        found, out = out[: len(rows)], out[len(rows) :]
        torch.testing.assert_close(found.float(), attention(rows, k, v, causal=True), rtol=4e-3, atol=4e-3)


def test_flashinfer_turns_by_positions(seeded):
    flashinfer = library("flashinfer")
    q, k = (torch.randn(40, heads, 64, device="cuda", dtype=torch.float16) for heads in (8, 2))
    places = torch.arange(15, 55, dtype=torch.int32, device="cuda")
    angles = places[:, None].double() * 10000.0 ** (torch.arange(0, 64, 2, device="cuda").double() / -64)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    for x, found in zip(
        (q, k), flashinfer.apply_rope_pos_ids(q, k, places, interleave=True, rope_theta=1e4), strict=True
    ):
        exact = torch.view_as_real(torch.view_as_complex(x.double().unflatten(-1, (32, 2))) * turns).flatten(-2)
        torch.testing.assert_close(found.double(), exact, rtol=2e-3, atol=2e-3)


def test_flashinfer_samples(seeded):
    sampling = library("flashinfer").sampling
    probs = torch.randn(6, 1000, device="cuda").mul(3).softmax(-1)
    kept = probs.masked_fill(probs < probs.topk(20)[0][:, -1:], 0)
    torch.testing.assert_close(
        sampling.top_k_renorm_probs(probs, 20), kept / kept.sum(-1, keepdim=True), rtol=1e-3, atol=1e-5
    )
    nucleus = sampling.top_p_renorm_probs(probs, 0.6)
    assert bool((probs.masked_fill(nucleus == 0, 0).sum(-1) >= 0.6 - 1e-3).all())
    torch.testing.assert_close(nucleus.sum(-1), torch.ones(6, device="cuda"))
    for _ in range(20):
        drawn = sampling.sampling_from_probs(kept / kept.sum(-1, keepdim=True))
        assert drawn.shape == (6,) and bool((kept.gather(1, drawn.long()[:, None]) > 0).all())


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


def test_quack_products_and_losses(seeded):
    library("quack")
    from quack.cross_entropy import cross_entropy
    from quack.gemm_interface import gemm, gemm_act
    from quack.rmsnorm import layernorm_fwd

    a, b = (torch.randn(*s, device="cuda", dtype=torch.bfloat16) for s in ((128, 256), (256, 192)))
    exact = a.cpu().double() @ b.cpu().double()
    torch.testing.assert_close(gemm(a, b, tuned=False).cpu().double(), exact, rtol=2e-2, atol=0.2)
    before, after = gemm_act(a, b, activation="relu", tuned=False)
    torch.testing.assert_close(before.cpu().double(), exact, rtol=2e-2, atol=0.2)
    torch.testing.assert_close(after.cpu().double(), exact.relu(), rtol=2e-2, atol=0.2)
    w, bias = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    exact = F.layer_norm(a.cpu().double(), (256,), w.cpu().double(), bias.cpu().double(), 1e-6)
    torch.testing.assert_close(layernorm_fwd(a, w, bias).cpu().double(), exact, rtol=2e-2, atol=2e-2)
    x = torch.randn(64, 1024, device="cuda", requires_grad=True)
    target = torch.randint(0, 1024, (64,), device="cuda")
    plain = x.detach().cpu().double().requires_grad_()
    loss, exact = cross_entropy(x, target), F.cross_entropy(plain, target.cpu())
    torch.testing.assert_close(loss.cpu().double(), exact, rtol=1e-4, atol=1e-4)
    loss.backward()
    exact.backward()
    torch.testing.assert_close(x.grad.cpu().double(), plain.grad, rtol=1e-3, atol=1e-6)
