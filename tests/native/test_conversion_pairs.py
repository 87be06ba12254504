"""Every dtype converts to every other, by whatever way the loops lead."""

from __future__ import annotations

import pytest

import shim_torch as torch

NAMES = (
    "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex32 complex64 complex128 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_to_every_dtype(name):
    # 1 and 2 are numbers of every dtype but bool; 700 of them: more than a block of the conversion.
    x = torch.tensor([1.0, 2.0] * 350, dtype=torch.float32).to(getattr(torch, name))
    numbers = [1.0, 1.0] * 350 if name == "bool" else [1.0, 2.0] * 350
    for other in NAMES:
        dtype = getattr(torch, other)
        want = [bool(n) for n in numbers] if other == "bool" else numbers
        assert x.to(dtype).tolist() == want, other
        assert x[::2].to(dtype).tolist() == want[::2], other
        assert x[1:2].expand(600).to(dtype).tolist() == want[1:2] * 600, other
        spread = torch.ones(1400, dtype=dtype)
        spread[::2].copy_(x)
        assert spread[::2].tolist() == want, other


def test_signs_and_what_wraps_around():
    x = torch.tensor([-1, -(2**40) - 5, 2**62 + 300], dtype=torch.int64)
    assert x.to(torch.uint8).tolist() == [255, 251, 44] and x.to(torch.int16).tolist() == [-1, -5, 300]
    assert x.to(torch.uint32).tolist() == [2**32 - 1, 2**32 - 5, 300]
    assert torch.tensor([-1, 5], dtype=torch.int8).to(torch.uint64).tolist() == [2**64 - 1, 5]
    assert torch.tensor([255, 5], dtype=torch.uint8).to(torch.int64).tolist() == [255, 5]
    assert torch.tensor([-3], dtype=torch.int16).to(torch.complex128).tolist() == [-3 + 0j]
    assert torch.tensor([2**32 - 1], dtype=torch.uint32).to(torch.float64).item() == 2**32 - 1
