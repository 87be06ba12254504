"""Attention and matrix products of stock wheels on a GPU: FlashAttention 2 and 3, FlashMLA, DeepGEMM. See wheel_cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from wheel_cases import FP8_MAX, Case, Maker, into


def attention(torch: Any, q: Any, k: Any, v: Any, scale: float, causal: bool) -> tuple[Any, Any]:
    """(rows, heads, size) in float64; fewer heads of k and v are shared. Returns the output and the log of the sums."""
    q, k, v = (t.double().transpose(0, 1) for t in (q, k, v))
    share = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(share, 0), v.repeat_interleave(share, 0)
    scores = q @ k.transpose(1, 2) * scale
    if causal:
        n, m = scores.shape[1:]
        hidden = torch.ones(n, m, dtype=torch.bool, device="cuda").triu(1 + m - n)
        scores = scores.masked_fill(hidden, -float("inf"))
    return (torch.softmax(scores, -1) @ v).transpose(0, 1), torch.logsumexp(scores, -1)


class Sequences:
    """Packed sequences of equal length: q, k, v of (sequences * length, heads, size), and where each begins."""

    def __init__(self, m: Maker, count: int, length: int, heads: int, shared: int, size: int, dtype: str) -> None:
        self.count, self.length = count, length
        self.q = m.normal(count * length, heads, size).to(getattr(m.torch, dtype))
        self.k, self.v = (m.normal(count * length, shared, size).to(getattr(m.torch, dtype)) for _ in "kv")
        self.begins = m.array((np.arange(count + 1) * length).astype(np.int32))
        self.scale = size**-0.5

    def reference(self, torch: Any, causal: bool) -> Sequence[Any]:
        parts = [slice(i * self.length, (i + 1) * self.length) for i in range(self.count)]
        found = [attention(torch, self.q[p], self.k[p], self.v[p], self.scale, causal) for p in parts]
        return [torch.cat([f[0] for f in found]), torch.cat([f[1] for f in found], 1)]


def flash_2(size: int, causal: bool) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        m.load("vllm", "vllm_flash_attn", "_vllm_fa2_C.abi3.so")
        s = Sequences(m, 2, 2048, 16, 4, size, "bfloat16")
        n = s.length
        given = (
            s.begins,
            s.begins,
            None,
            None,
            None,
            None,
            n,
            n,
            0.0,
            s.scale,
            False,
            causal,
            -1,
            -1,
            0.0,
            False,
            0,
            None,
        )

        def call() -> Any:
            return m.torch.ops._vllm_fa2_C.varlen_fwd(s.q, s.k, s.v, None, *given)

        return Case(call, lambda: call()[:2], lambda: s.reference(m.torch, causal))

    return make


def fa3(torch: Any, q: Any, k: Any, v: Any, **given: Any) -> Any:
    """vLLM's FlashAttention 3 with the arguments that are not given left out."""
    names = (
        "k_new v_new q_v out cu_seqlens_q cu_seqlens_k cu_seqlens_k_new seqused_q seqused_k max_seqlen_q max_seqlen_k "
        "page_table kv_batch_idx leftpad_k rotary_cos rotary_sin seqlens_rotary q_descale k_descale v_descale"
    ).split()
    rest = (given.pop("scale"), given.pop("causal"), -1, -1, 0.0, True, None, 0, None, 0, None, 1, 0, None)
    assert set(given) <= set(names), given
    return torch.ops._vllm_fa3_C.fwd(q, k, v, *(given.get(n) for n in names), *rest)


def flash_3(size: int, causal: bool, dtype: str = "bfloat16") -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        m.load("vllm", "vllm_flash_attn", "_vllm_fa3_C.abi3.so")
        s = Sequences(m, 2, 2048, 16, 4, size, dtype)
        given: dict[str, Any] = {"cu_seqlens_q": s.begins, "cu_seqlens_k": s.begins, "max_seqlen_q": s.length}
        if dtype != "bfloat16":
            one = m.torch.ones(s.count, 4, dtype=m.torch.float32, device="cuda")
            given.update(q_descale=one, k_descale=one, v_descale=one)

        def call() -> Any:
            return fa3(m.torch, s.q, s.k, s.v, max_seqlen_k=s.length, scale=s.scale, causal=causal, **given)

        return Case(call, lambda: call()[:2], lambda: s.reference(m.torch, causal))

    return make


def flash_3_decode(m: Maker) -> Case:
    m.load("vllm", "vllm_flash_attn", "_vllm_fa3_C.abi3.so")
    batch, heads, shared, size, page, pages = 32, 32, 8, 128, 16, 64
    q = m.normal(batch, heads, size)
    k, v = (m.normal(batch * pages, page, shared, size) for _ in "kv")
    table = m.array(m.rng.permutation(batch * pages).reshape(batch, pages).astype(np.int32))
    used = m.rng.integers(1, page * pages + 1, batch).astype(np.int32)
    begins, lengths = m.array(np.arange(batch + 1, dtype=np.int32)), m.array(used)
    given = {"cu_seqlens_q": begins, "seqused_k": lengths, "page_table": table, "max_seqlen_q": 1}

    def call() -> Any:
        return fa3(m.torch, q, k, v, max_seqlen_k=page * pages, scale=size**-0.5, causal=True, **given)

    def reference() -> Sequence[Any]:
        found = []
        for i in range(batch):
            keys, values = (t[table[i].long()].view(page * pages, shared, size)[: int(used[i])] for t in (k, v))
            found.append(attention(m.torch, q[i : i + 1], keys, values, size**-0.5, False)[0])
        return [m.torch.cat(found)]

    return Case(call, lambda: call()[:1], reference)


def fa3_fwd(causal: bool) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        import fa3_fwd_interface as interface

        q, (k, v) = m.normal(2, 2048, 16, 128), (m.normal(2, 2048, 4, 128) for _ in "kv")

        def call() -> Any:
            return interface.flash_attn_func(q, k, v, causal=causal)

        def outputs() -> Sequence[Any]:
            found = call()
            return [found[0] if isinstance(found, tuple) else found]

        def reference() -> Sequence[Any]:
            return [m.torch.stack([attention(m.torch, q[i], k[i], v[i], 128**-0.5, causal)[0] for i in range(2)])]

        return Case(call, outputs, reference)

    return make


def mla_decode(m: Maker) -> Case:
    from flash_mla.flash_mla_interface import flash_mla_with_kvcache, get_mla_metadata

    batch, heads, size, value, block, length = 32, 64, 576, 512, 64, 2048
    q = m.normal(batch, 1, heads, size, scale=0.5)
    cache = m.normal(batch * length // block, block, 1, size, scale=0.5)
    table = m.torch.arange(batch * length // block, dtype=m.torch.int32, device="cuda").view(batch, -1)
    used = m.rng.integers(1, length + 1, batch).astype(np.int32)
    lengths, meta = m.array(used), get_mla_metadata()[0]

    def call() -> Any:
        return flash_mla_with_kvcache(q, cache, table, lengths, value, meta, causal=True, use_legacy=True)

    def reference() -> Sequence[Any]:
        rows = cache.view(batch, length, 1, size)
        parts = [rows[i, : int(used[i])] for i in range(batch)]
        found = [attention(m.torch, q[i], p, p[..., :value], size**-0.5, False)[0] for i, p in enumerate(parts)]
        return [m.torch.stack(found)]

    return Case(call, lambda: call()[:1], reference)


def mla_prefill(m: Maker) -> Case:
    from flash_mla.flash_mla_interface import flash_mla_sparse_fwd

    queries, keys, heads, size, top = 1024, 4096, 64, 576, 512
    q, kv = m.normal(queries, heads, size, scale=0.5), m.normal(keys, 1, size, scale=0.5)
    chosen = m.array(np.argsort(m.rng.random((queries, keys)), -1)[:, None, :top].astype(np.int32))
    call = lambda: flash_mla_sparse_fwd(q, kv, chosen, size**-0.5, use_legacy=True)

    def reference() -> Sequence[Any]:
        taken = kv[:, 0].double()[chosen[:, 0].long()]
        scores = q.double() @ taken.transpose(1, 2) * size**-0.5
        return [m.torch.softmax(scores, -1) @ taken[..., :512]]

    return Case(call, lambda: call()[:1], reference)


def deep_gemm(m: Maker) -> Any:
    """vLLM's copy of DeepGEMM, by its own name; it compiles its kernels with nvcc when they are first called."""
    folder = str(m.wheels / "vllm" / "third_party")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import deep_gemm

    return deep_gemm


def fp8_rows(m: Maker, x: Any) -> tuple[Any, Any]:
    """(values in float8, a scale for each 128 of a row)."""
    groups = x.float().view(*x.shape[:-1], -1, 128)
    scale = groups.abs().amax(-1, keepdim=True).clamp(min=1e-4) / FP8_MAX
    return (groups / scale).to(m.torch.float8_e4m3fn).view(x.shape), scale.squeeze(-1).contiguous()


def fp8_blocks(m: Maker, x: Any) -> tuple[Any, Any]:
    """(values in float8, a scale for each 128 by 128)."""
    n, k = x.shape[-2:]
    blocks = x.float().view(-1, n // 128, 128, k // 128, 128)
    scale = blocks.abs().amax((2, 4), keepdim=True).clamp(min=1e-4) / FP8_MAX
    return (blocks / scale).to(m.torch.float8_e4m3fn).view(x.shape), scale.view(*x.shape[:-2], n // 128, k // 128)


def widened(pair: Any, block: int) -> Any:
    """The float64 numbers that float8 values and their scales stand for."""
    values, scale = pair
    scale = scale.double().repeat_interleave(128, -1)
    return values.double() * (scale.repeat_interleave(block, -2) if block > 1 else scale)


def gemm(rows: int, fp8: bool, columns: int = 4096, inner: int = 7168) -> Callable[[Maker], Case]:
    def make(m: Maker) -> Case:
        library, a, b = deep_gemm(m), m.normal(rows, inner), m.normal(columns, inner)
        out = m.empty(rows, columns)
        if not fp8:
            return Case(
                lambda: library.bf16_gemm_nt(a, b, out),
                into(out, lambda: library.bf16_gemm_nt(a, b, out)),
                lambda: [a.double() @ b.double().t()],
            )
        left, right = fp8_rows(m, a), fp8_blocks(m, b)
        call = lambda: library.fp8_gemm_nt(left, right, out)
        return Case(call, into(out, call), lambda: [widened(left, 1) @ widened(right, 128).t()])

    return make


def grouped_gemm(fp8: bool) -> Callable[[Maker], Case]:
    """Rows of four experts, each expert's rows a multiple of the layout's alignment."""

    def make(m: Maker) -> Case:
        library, groups, columns, inner = deep_gemm(m), 4, 4096, 2048
        align = library.get_mk_alignment_for_contiguous_layout()
        owners = np.repeat(np.arange(groups, dtype=np.int32), np.array([4, 9, 6, 13]) * align)
        layout, rows = m.array(owners), len(owners)
        a, b, out = m.normal(rows, inner), m.normal(groups, columns, inner), m.empty(rows, columns)
        left, right = (fp8_rows(m, a), fp8_blocks(m, b)) if fp8 else (a, b)
        op = library.m_grouped_fp8_gemm_nt_contiguous if fp8 else library.m_grouped_bf16_gemm_nt_contiguous
        call = lambda: op(left, right, out, layout)

        def reference() -> Sequence[Any]:
            x, y = (widened(left, 1), widened(right, 128)) if fp8 else (a.double(), b.double())
            return [m.torch.cat([x[layout == g] @ y[g].t() for g in range(groups)])]

        return Case(call, into(out, call), reference)

    return make


def masked_gemm(m: Maker) -> Case:
    library, groups, most, columns, inner = deep_gemm(m), 4, 256, 4096, 2048
    counts = np.array([100, 256, 7, 192], np.int32)
    left, right = fp8_rows(m, m.normal(groups, most, inner)), fp8_blocks(m, m.normal(groups, columns, inner))
    out, valid = m.empty(groups, most, columns), m.array(counts)
    call = lambda: library.m_grouped_fp8_gemm_nt_masked(left, right, out, valid, 140)

    def outputs() -> Sequence[Any]:
        call()
        return [m.torch.cat([out[g, : int(n)] for g, n in enumerate(counts)])]

    def reference() -> Sequence[Any]:
        x, y = widened(left, 1), widened(right, 128)
        return [m.torch.cat([x[g, : int(n)] @ y[g].t() for g, n in enumerate(counts)])]

    return Case(call, outputs, reference)


CASES: dict[str, Callable[[Maker], Case]] = {
    "vLLM FA2 2x2048 d128 causal": flash_2(128, True),
    "vLLM FA2 2x2048 d64": flash_2(64, False),
    "vLLM FA3 2x2048 d128 causal": flash_3(128, True),
    "vLLM FA3 2x2048 d64": flash_3(64, False),
    "vLLM FA3 fp8 2x2048 d128 causal": flash_3(128, True, "float8_e4m3fn"),
    "vLLM FA3 paged decode 32x1024": flash_3_decode,
    "fa3_fwd 2x2048 d128 causal": fa3_fwd(True),
    "fa3_fwd 2x2048 d128": fa3_fwd(False),
    "FlashMLA dense decode 32x2048": mla_decode,
    "FlashMLA sparse prefill 1024x512": mla_prefill,
    "DeepGEMM fp8 64x4096x7168": gemm(64, True),
    "DeepGEMM fp8 4096x4096x7168": gemm(4096, True),
    "DeepGEMM bf16 64x4096x7168": gemm(64, False),
    "DeepGEMM bf16 4096x4096x7168": gemm(4096, False),
    "DeepGEMM fp8 grouped": grouped_gemm(True),
    "DeepGEMM bf16 grouped": grouped_gemm(False),
    "DeepGEMM fp8 grouped masked": masked_gemm,
}
