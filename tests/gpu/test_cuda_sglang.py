"""SGLang's Triton attention (``pip install --no-deps sglang==0.5.23``) on the GPU beside plain attention; skipped without."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from compat import torch_proxy

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))
import sglang_attention


@pytest.fixture(scope="module", autouse=True)
def proxy():
    if any(importlib.util.find_spec(name) is None for name in ("sglang", "orjson")):
        pytest.skip("sglang is not installed")
    with torch_proxy({"sglang", "triton"}):
        yield


@pytest.mark.parametrize("check", sglang_attention.CHECKS)
def test_attention(check):
    check()
