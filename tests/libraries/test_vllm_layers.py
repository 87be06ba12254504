"""vLLM's Python layers over our torch without a GPU: their Triton kernels run in the interpreter.

The vLLM wheel (0.33.0, unzipped, its folder on PYTHONPATH) and what its modules import; skipped without.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import torch_proxy

sys.path.insert(0, str(Path(__file__).parent))
import vllm_layers

if any(importlib.util.find_spec(name) is None for name in ("vllm", "triton")):
    pytest.skip("the vLLM wheel is not there", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("tests/gpu has them for a GPU", allow_module_level=True)

F = torch.nn.functional


@pytest.fixture(scope="module", autouse=True)
def proxy():
    with torch_proxy(vllm_layers.SCOPE):
        yield


@pytest.fixture(autouse=True)
def as_on_hopper(monkeypatch):
    """vLLM sizes a kernel's blocks by the GPU."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))


def aligned(ids, block, experts, expert_map, ignore_invalid_experts=False):
    """What vLLM's compiled operator gives: places of tokens by expert, each expert's filled up to whole blocks."""
    order, owners = [], []
    for expert in range(experts):
        places = (ids.flatten() == expert).nonzero().flatten().tolist()
        order += places + [ids.numel()] * (-len(places) % block)
        owners += [expert] * -(-len(places) // block)
    return [torch.tensor(t, dtype=torch.int32) for t in (order, owners, [len(order)])]


def quantized(x, scale, azp, symmetric):
    scales = x.abs().amax(-1, keepdim=True) / 127
    return (x / scales).round().to(torch.int8), scales, None


@pytest.mark.parametrize("queries, split", [((5, 3), False), ((1, 1), False), ((1, 1), True)])
def test_attention_backend(queries, split):
    vllm_layers.check_attention("cpu", torch.float32, 1e-5, queries, split)


def test_fused_experts(monkeypatch):
    """With plain operators in place of the three compiled ones around its kernels."""
    layer = vllm_layers.module("vllm.model_executor.layers.fused_moe.fused_moe")
    monkeypatch.setattr(layer, "moe_align_block_size", aligned)
    halves = lambda kind, out, x: out.copy_(F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1])
    monkeypatch.setattr(layer, "apply_moe_activation", halves)
    monkeypatch.setattr(layer.ops, "moe_sum", lambda x, out: out.copy_(x.sum(1)))
    monkeypatch.setattr(layer, "get_moe_configs", lambda *args: None)  # tables of GPUs
    vllm_layers.check_experts("cpu", torch.float32, 1e-5)


def test_quantized_linear(monkeypatch):
    """With a plain quantization of inputs in place of the compiled one."""
    kernels = vllm_layers.module("vllm.model_executor.kernels.linear.scaled_mm.triton")
    monkeypatch.setattr(kernels.TritonInt8ScaledMMLinearKernel, "is_supported", staticmethod(lambda: (True, None)))
    monkeypatch.setattr(kernels.ops, "scaled_int8_quant", quantized)
    vllm_layers.check_quantized_linear("cpu", torch.float32, 2e-2)
