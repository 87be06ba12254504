"""SGLang's Triton attention over our torch beside plain attention, in Triton's interpreter.

``pip install --no-deps sglang==0.5.23`` and what its kernels' modules import; skipped without.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

sys.path.insert(0, str(Path(__file__).parent))
import sglang_attention

if any(importlib.util.find_spec(name) is None for name in ("sglang", "triton", "orjson")):
    pytest.skip("sglang is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("tests/gpu has them for a GPU", allow_module_level=True)

_token = enable_torch_proxy({"sglang", "triton"})


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


@pytest.mark.parametrize("check", sglang_attention.CHECKS)
def test_attention(check):
    check()
