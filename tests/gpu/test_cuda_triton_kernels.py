"""OpenAI's triton_kernels (by itself, or as the vLLM wheel brings it) on the GPU beside plain operators."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import shim_torch as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))
import experts


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("check", [experts.check_product, experts.check_mixture])
def test_beside_plain_operators(check, dtype):
    with experts.triton_kernels() as library:
        check(library, "cuda", getattr(torch, dtype), {"float16": 3e-3, "bfloat16": 2e-2}[dtype])
