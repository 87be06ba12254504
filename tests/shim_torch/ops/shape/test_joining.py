"""Tensors joined: on one device, in the memory format that all have; lists flattened and back."""

from typing import Any

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import drawn, natively, numpy


@pytest.mark.parametrize("join", [torch.cat, torch.stack, torch.hstack, torch.vstack])
@pytest.mark.parametrize("devices", [("cpu", "meta"), ("meta", "cpu")])
def test_two_devices_are_refused(join, devices):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        join([torch.ones(3, 3, device=d) for d in devices])


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("dim", range(4))
def test_cat_keeps_channels_last(device, dim):
    x, y = (torch.randn(2, 3, 4, 5, device=device) for _ in range(2))
    plain = torch.cat((x, y), dim)
    kept = torch.cat([t.contiguous(memory_format=torch.channels_last) for t in (x, y)], dim)
    assert kept.is_contiguous(memory_format=torch.channels_last) and torch.equal(kept, plain)
    mixed = torch.cat([x.contiguous(memory_format=torch.channels_last), y], dim)
    assert mixed.is_contiguous() and torch.equal(mixed, plain)


SHAPES = [(7,), (3, 5), (4, 3, 6), (70, 41), (0, 3)]


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
def test_cat_and_stack(shape: Any, dim: int, dtype: Any) -> None:
    a, b = drawn(shape).astype(dtype), (drawn(shape) * 3).astype(dtype)
    spread = torch.from_numpy(np.ascontiguousarray(b.T)).permute(*range(len(shape))[::-1])
    got = natively(lambda: torch.cat([torch.from_numpy(a), spread, torch.from_numpy(a)], dim))
    np.testing.assert_array_equal(numpy(got), np.concatenate([a, b, a], dim))
    got = natively(lambda: torch.stack([torch.from_numpy(a), spread], dim))
    np.testing.assert_array_equal(numpy(got), np.stack([a, b], dim))
