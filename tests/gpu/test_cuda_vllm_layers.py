"""vLLM's Python layers over its kernels on the GPU: attention over pages, a mixture of experts, a layer of int8 weights.

The vLLM wheel (0.33.0) and what its modules import; skipped without.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import torch_proxy

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))
import vllm_layers

DTYPES = pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 3e-3), (torch.bfloat16, 2e-2)])


@pytest.fixture(scope="module", autouse=True)
def proxy():
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("the vLLM wheel is not there")
    with torch_proxy(vllm_layers.SCOPE):
        yield


@pytest.mark.parametrize("queries, split", [((5, 3), False), ((1, 1), False), ((1, 1), True)])
@DTYPES
def test_attention_backend(dtype, tolerance, queries, split):
    vllm_layers.check_attention("cuda", dtype, tolerance, queries, split)


@DTYPES
def test_fused_experts(dtype, tolerance):
    vllm_layers.check_experts("cuda", dtype, 2 * tolerance)


@DTYPES
def test_quantized_linear(dtype, tolerance):
    vllm_layers.check_quantized_linear("cuda", dtype, 3e-2)
