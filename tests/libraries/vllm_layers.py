"""vLLM's Python layers over its kernels beside plain operators, on any device: attention, experts, a quantized layer."""

from __future__ import annotations

import types
from typing import Any

import pytest

import shim_torch as torch

F = torch.nn.functional
SCOPE = {"vllm", "triton", "transformers", "xgrammar", "tvm_ffi", "einops"}  # with what it imports that uses torch
HEADS, KEY_HEADS, WIDTH, PAGE = 8, 2, 64, 16


def module(name: str) -> Any:
    """One of vLLM's modules; the test is skipped where it or what it imports is not installed."""
    return pytest.importorskip(name, exc_type=ImportError)


def _close(found: torch.Tensor, right: torch.Tensor, tolerance: float) -> None:
    assert found.shape == right.shape
    assert ((found.double().cpu() - right).norm() / right.norm()).item() < tolerance


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """[queries, heads, width] over [keys, key heads, width]; the last query sees all keys."""
    q, k, v = (t.cpu().double() for t in (q, k, v))
    k, v = (t.repeat_interleave(HEADS // KEY_HEADS, 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) * WIDTH**-0.5
    seen = torch.ones(scores.shape[1:], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, float("-inf")).softmax(-1), v)


def check_attention(device: str, dtype: torch.dtype, tolerance: float, queries: tuple[int, ...], split: bool) -> None:
    """The Triton backend writes two sequences into pages and attends; ``split`` shares a sequence's keys among programs."""
    backend = module("vllm.v1.attention.backends.triton_attn")
    torch.manual_seed(0)
    lengths, tokens, segments = (21, 70), sum(queries), 16
    implementation = backend.TritonAttentionImpl(HEADS, WIDTH, WIDTH**-0.5, KEY_HEADS, None, None, "auto")
    one = torch.ones(1, device=device)
    layer = types.SimpleNamespace(_q_scale=one, _k_scale=one, _v_scale=one)
    cache = torch.zeros(12, KEY_HEADS, PAGE, 2 * WIDTH, device=device, dtype=dtype)
    table = torch.randperm(12, dtype=torch.int32)[:10].view(2, 5)
    slots = torch.cat(
        [table[n].long().repeat_interleave(PAGE)[:m] * PAGE + torch.arange(m) % PAGE for n, m in enumerate(lengths)]
    )
    keys, values = (torch.randn(sum(lengths), KEY_HEADS, WIDTH, device=device, dtype=dtype) for _ in range(2))
    implementation.do_kv_cache_update(layer, keys, values, cache, slots.to(device))
    q = torch.randn(tokens, HEADS, WIDTH, device=device, dtype=dtype)
    starts, ends = (torch.tensor(n, dtype=torch.int32, device=device) for n in ([0, queries[0], tokens], lengths))
    metadata = backend.TritonAttentionMetadata(
        tokens, max(queries), starts, max(lengths), ends, table.to(device), slots.to(device),
        seq_threshold_3D=2 if split else 0,
        num_par_softmax_segments=segments,
        softmax_segm_output=torch.empty(tokens, HEADS, segments, WIDTH, device=device),
        softmax_segm_max=torch.empty(tokens, HEADS, segments, device=device),
        softmax_segm_expsum=torch.empty(tokens, HEADS, segments, device=device),
        causal=True,
    )  # fmt: skip
    out = torch.empty_like(q)
    implementation.forward(layer, q, keys, values, cache, metadata, out)
    for found, rows, k, v in zip(
        *(t.split(n) for t, n in ((out, queries), (q, queries), (keys, lengths), (values, lengths)))
    ):
        _close(found, _attention(rows, k, v), tolerance)


def check_experts(device: str, dtype: torch.dtype, tolerance: float) -> None:
    """``fused_experts``: 20 tokens, two of eight experts each, SiLU of one half times the other."""
    layer = module("vllm.model_executor.layers.fused_moe.fused_moe")
    torch.manual_seed(1)
    tokens, count, chosen, width, hidden = 20, 8, 2, 64, 32
    x, first, second = (
        torch.randn(*shape, device=device).div(scale).to(dtype)
        for shape, scale in (((tokens, width), 1), ((count, 2 * hidden, width), 8), ((count, width, hidden), 6))
    )
    weights, ids = torch.randn(tokens, count, device=device).softmax(-1).topk(chosen)
    out = layer.fused_experts(x, first, second, weights, ids.int())
    assert out.dtype == dtype
    x, first, second, weights, ids = (
        x.cpu().double(),
        first.cpu().double(),
        second.cpu().double(),
        weights.cpu(),
        ids.cpu(),
    )
    gate, up = torch.einsum("tk,enk->ten", x, first).chunk(2, -1)
    each = torch.einsum("tei,eoi->teo", F.silu(gate) * up, second)
    _close(out, (each.gather(1, ids[..., None].expand(-1, -1, width)) * weights[..., None]).sum(1), tolerance)


def check_quantized_linear(device: str, dtype: torch.dtype, tolerance: float) -> None:
    """The Triton kernel for int8 weights with a scale for each row, inputs quantized as they come."""
    scaled = module("vllm.model_executor.kernels.linear.scaled_mm.ScaledMMLinearKernel")
    kernels = module("vllm.model_executor.kernels.linear.scaled_mm.triton")
    torch.manual_seed(2)
    layer = torch.nn.Module()
    layer.logical_widths = [48]
    weight = torch.randn(48, 64)
    scales = weight.abs().amax(1, keepdim=True) / 127
    for name, value in (("weight", (weight / scales).round().to(torch.int8)), ("weight_scale", scales)):
        layer.register_parameter(name, torch.nn.Parameter(value.to(device), requires_grad=False))
    names = ("weight", "weight_scale", "input_scale", "input_zero_point", "azp_adj")
    config = scaled.Int8ScaledMMLinearLayerConfig(
        is_static_input_scheme=False, is_channelwise=True, input_symmetric=True
    )
    kernel = kernels.TritonInt8ScaledMMLinearKernel(config, names)
    kernel.process_weights_after_loading(layer)
    x, bias = torch.randn(20, 64, device=device, dtype=dtype), torch.randn(48, device=device, dtype=dtype)
    out = kernel.apply_weights(layer, x, bias)
    assert out.dtype == dtype
    _close(out, F.linear(x.cpu().double(), weight.double(), bias.cpu().double()), tolerance)
