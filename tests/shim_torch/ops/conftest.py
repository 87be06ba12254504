"""What tests of operators are given."""

from __future__ import annotations

from typing import Any

import pytest

import shim_torch as torch


@pytest.fixture(params=[torch.float32, torch.float64])
def image(request: pytest.FixtureRequest) -> Any:
    """Two images of three channels, 7x9."""
    torch.manual_seed(0)
    return torch.randn(2, 3, 7, 9, dtype=request.param)
