"""empty_like and its kind: the strides they keep, and where they answer."""

from __future__ import annotations

import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like"])
def test_strides_are_kept_where_memory_is_dense(name):
    like = getattr(torch, name)
    permuted = torch.randn(4, 5, 6).permute(2, 0, 1)
    assert like(permuted).stride() == (1, 30, 6)
    assert like(permuted[:, ::2]).stride() == (1, 30, 6)  # not dense: compact memory in the order of the strides
    assert like(permuted, memory_format=torch.contiguous_format).stride() == (20, 5, 1)
    assert like(permuted, device="meta").stride() == (1, 30, 6)
    assert like(torch.randn(2, 3, 4, 5), memory_format=torch.channels_last).stride() == (60, 1, 15, 3)


@pytest.mark.parametrize(("name", "value"), [("zeros_like", 0), ("ones_like", 1)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "complex64"])
def test_values_and_dtypes(name, value, dtype):
    made = getattr(torch, name)(torch.empty(3, 0, 2), dtype=getattr(torch, dtype))
    assert made.dtype is getattr(torch, dtype) and made.shape == (3, 0, 2)
    made = getattr(torch, name)(torch.full((5,), 7.0), dtype=getattr(torch, dtype))
    assert made.tolist() == [value] * 5
