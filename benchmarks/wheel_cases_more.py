"""More operators of the vLLM wheel: fused quantization, caches of latent attention, vLLM's FlashMLA, the rest of DeepGEMM
that runs on Hopper. See wheel_cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from wheel_cases import FP8_MAX, Case, Maker, into, normed
from wheel_cases_large import attention, deep_gemm


def scaled_mm_int8(m: Maker) -> Case:
    ops, a, b = (
        m.vllm(),
        m.integers(-127, 128, 2048, 4096, dtype="int8"),
        m.integers(-127, 128, 4096, 4096, dtype="int8"),
    )
    of_a, of_b = (m.normal(*s, dtype="float32", scale=0.01).abs() for s in ((2048, 1), (1, 4096)))
    bias, out = m.normal(4096), m.empty(2048, 4096)
    call = lambda: ops.cutlass_scaled_mm(out, a, b.t(), of_a, of_b, bias)

    def reference() -> Sequence[Any]:
        return [(a.double() @ b.double().t()) * of_a.double() * of_b.double() + bias.double()]

    return Case(call, into(out, call), reference)


def latent_cache(m: Maker) -> Case:
    tokens, block, blocks = 4096, 64, 128
    m.vllm()
    ops, values, turned = m.torch.ops._C_cache_ops, m.normal(tokens, 512), m.normal(tokens, 64)
    cache = m.torch.zeros(blocks, block, 576, dtype=m.torch.bfloat16, device="cuda")
    slots = m.array(m.rng.permutation(blocks * block)[:tokens].astype(np.int64))
    one = m.array(np.ones(1, np.float32))
    call = lambda: ops.concat_and_cache_mla(values, turned, cache, slots, "auto", one)

    def reference() -> Sequence[Any]:
        rows = m.torch.zeros(blocks * block, 576, dtype=m.torch.float64, device="cuda")
        rows[slots] = m.torch.cat([values, turned], -1).double()
        return [rows.view(blocks, block, 576)]

    return Case(call, into(cache, call), reference)


def norm_and_quantize(per_token: bool) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        ops, x, w = m.vllm(), m.normal(4096, 4096), m.normal(4096)
        out = m.empty(4096, 4096, dtype="float8_e4m3fn")
        scale = m.empty(4096, 1, dtype="float32") if per_token else m.array(np.array([0.05], np.float32))

        def call() -> None:
            if per_token:
                ops.rms_norm_dynamic_per_token_quant(out, x, w, scale, 1e-6, None, None)
            else:
                ops.rms_norm_static_fp8_quant(out, x, w, scale, 1e-6)

        def reference() -> Sequence[Any]:
            whole = normed(m.torch, x, w, 1e-6)
            if not per_token:
                return [(whole / scale.double()).clamp(-FP8_MAX, FP8_MAX)]
            return [whole / (whole.abs().amax(-1, keepdim=True) / FP8_MAX)]

        return Case(call, into(out, call), reference)

    return make


def silu_and_quantize(m: Maker) -> Case:
    ops, x, out = m.vllm(), m.normal(4096, 8192), m.empty(4096, 4096, dtype="float8_e4m3fn")
    scale = m.array(np.array([0.05], np.float32))
    call = lambda: ops.silu_and_mul_quant(out, x, scale)
    gate = lambda: m.torch.nn.functional.silu(x[:, :4096].double()) * x[:, 4096:].double()
    return Case(call, into(out, call), lambda: [(gate() / scale.double()).clamp(-FP8_MAX, FP8_MAX)])


def topk_sigmoid(m: Maker) -> Case:
    tokens, experts, k = 4096, 128, 8
    ops, scores = m.moe(), m.normal(tokens, experts, dtype="float32")
    weights, ids, rows = m.empty(tokens, k, dtype="float32"), *(m.empty(tokens, k, dtype="int32") for _ in range(2))
    call = lambda: ops.topk_sigmoid(weights, ids, rows, scores, False, None, 1.0, None)
    reference = lambda: [t.double() for t in m.torch.topk(m.torch.sigmoid(scores.double()), k)]
    return Case(call, into(weights, call, ids), reference)


def shuffle_rows(m: Maker) -> Case:
    ops, x, out = m.moe(), m.normal(2048, 2048), m.empty(8192, 2048)
    rows = m.integers(0, 2048, 8192, dtype="int32")
    call = lambda: ops.shuffle_rows(x, rows, out)
    return Case(call, into(out, call), lambda: [x.double()[rows.long()]])


def mla_decode(m: Maker) -> Case:
    m.load("vllm", "_flashmla_C.abi3.so")
    batch, heads, size, value, block, length = 32, 128, 576, 512, 64, 1024
    q = m.normal(batch, 1, heads, size, scale=0.5)
    cache = m.normal(batch * length // block, block, 1, size, scale=0.5)
    table = m.torch.arange(batch * length // block, dtype=m.torch.int32, device="cuda").view(batch, -1)
    used = m.rng.integers(1, length + 1, batch).astype(np.int32)
    lengths = m.array(used)

    def call() -> Any:
        given = (value, lengths, table, size**-0.5, True, None, None, None)
        return m.torch.ops._flashmla_C.dense_decode_fwd(q, cache, *given)

    def reference() -> Sequence[Any]:
        rows = cache.view(batch, length, 1, size)
        parts = [rows[i, : int(used[i])] for i in range(batch)]
        found = [attention(m.torch, q[i], p, p[..., :value], size**-0.5, False)[0] for i, p in enumerate(parts)]
        return [m.torch.stack(found)]

    return Case(call, lambda: call()[:1], reference)


def mla_prefill(m: Maker) -> Case:
    m.load("vllm", "_flashmla_C.abi3.so")
    queries, keys, heads, size, top = 1024, 4096, 64, 576, 512
    q, kv = m.normal(queries, heads, size, scale=0.5), m.normal(keys, 1, size, scale=0.5)
    chosen = m.array(np.argsort(m.rng.random((queries, keys)), -1)[:, None, :top].astype(np.int32))

    def call() -> Any:
        return m.torch.ops._flashmla_C.sparse_prefill_fwd(q, kv, chosen, size**-0.5, 512, None, None, None)

    def reference() -> Sequence[Any]:
        taken = kv[:, 0].double()[chosen[:, 0].long()]
        scores = q.double() @ taken.transpose(1, 2) * size**-0.5
        return [m.torch.softmax(scores, -1) @ taken[..., :512]]

    return Case(call, lambda: call()[:1], reference)


def cublaslt(m: Maker) -> Case:
    library, a, b, out = deep_gemm(m), m.normal(2048, 4096), m.normal(4096, 4096), m.empty(2048, 4096)
    call = lambda: library.cublaslt_gemm_nt(a, b, out)
    return Case(call, into(out, call), lambda: [a.double() @ b.double().t()])


def prenorm(m: Maker) -> Case:
    library, a, b = deep_gemm(m), m.normal(4096, 7168), m.normal(24, 7168, dtype="float32")
    out, squares = m.empty(4096, 24, dtype="float32"), m.empty(4096, dtype="float32")
    call = lambda: library.tf32_hc_prenorm_gemm(a, b, out, squares, None)
    reference = lambda: [a.double() @ b.double().t(), (a.double() ** 2).sum(-1)]
    return Case(call, into(out, call, squares), reference)


def head_products(m: Maker) -> Case:
    library, x, y, out = deep_gemm(m), m.normal(128, 32, 512), m.normal(32, 128, 512), m.empty(128, 32, 128)
    call = lambda: library.einsum("bhr,hdr->bhd", x, y, out)
    return Case(
        call, into(out, call), lambda: [(x.double().transpose(0, 1) @ y.double().transpose(1, 2)).transpose(0, 1)]
    )


CASES: dict[str, Callable[[Maker], Case]] = {
    "cutlass_scaled_mm int8 2048x4096x4096": scaled_mm_int8,
    "concat_and_cache_mla 4096 tokens": latent_cache,
    "rms_norm_static_fp8_quant 4096x4096": norm_and_quantize(False),
    "rms_norm_dynamic_per_token 4096x4096": norm_and_quantize(True),
    "silu_and_mul_quant 4096x4096": silu_and_quantize,
    "topk_sigmoid 4096x128": topk_sigmoid,
    "shuffle_rows 8192x2048": shuffle_rows,
    "vLLM FlashMLA dense decode 32x1024": mla_decode,
    "vLLM FlashMLA sparse prefill 1024x512": mla_prefill,
    "DeepGEMM cublasLt bf16 2048x4096x4096": cublaslt,
    "DeepGEMM tf32 prenorm 4096x24x7168": prenorm,
    "DeepGEMM einsum bhr,hdr->bhd": head_products,
}
