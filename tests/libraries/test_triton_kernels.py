"""OpenAI's triton_kernels over our torch without a GPU: its product and a mixture of experts in Triton's interpreter.

The vLLM wheel (0.33.0, unzipped, its folder on PYTHONPATH) brings it as ``vllm/third_party``; skipped without. Nothing
of vLLM is imported.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import torch_proxy

sys.path.insert(0, str(Path(__file__).parent))
import experts

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("settings for Triton's interpreter; tests/gpu has them for a GPU", allow_module_level=True)


@pytest.fixture
def library(monkeypatch):
    with torch_proxy({"triton", "triton_kernels"}), experts.triton_kernels() as library:
        from triton_kernels.matmul_ogs_details import opt_flags

        # It chooses settings by the GPU.
        settings = opt_flags.OptFlags(16, 32, 32, 4, 1, 8, 1, None, 1, False, False, 0, 1, None, {})
        monkeypatch.setattr(opt_flags, "_opt_flags", settings)
        yield library


@pytest.mark.parametrize("check", [experts.check_product, experts.check_mixture])
def test_beside_plain_operators(library, check):
    check(library, "cpu", torch.float32, 1e-5)
