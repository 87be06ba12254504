"""Tensors that are joined must be on one device; the memory format that all have is kept on every device."""

from __future__ import annotations

import pytest

import shim_torch as torch


@pytest.mark.parametrize("join", [torch.cat, torch.stack, torch.hstack, torch.vstack])
@pytest.mark.parametrize("devices", [("cpu", "meta"), ("meta", "cpu")])
def test_two_devices_are_refused(join, devices):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        join([torch.ones(3, 3, device=d) for d in devices])


def test_block_diag_of_two_devices_is_refused():
    with pytest.raises(RuntimeError, match="Input 0 is on device cpu and input 1 is on device meta"):
        torch.block_diag(torch.ones(2, 2), torch.ones(2, 2, device="meta"))


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("dim", range(4))
def test_cat_keeps_channels_last(device, dim):
    x, y = (torch.randn(2, 3, 4, 5, device=device) for _ in range(2))
    plain = torch.cat((x, y), dim)
    kept = torch.cat([t.contiguous(memory_format=torch.channels_last) for t in (x, y)], dim)
    assert kept.is_contiguous(memory_format=torch.channels_last) and torch.equal(kept, plain)
    mixed = torch.cat([x.contiguous(memory_format=torch.channels_last), y], dim)
    assert mixed.is_contiguous() and torch.equal(mixed, plain)


def test_an_index_into_nothing_is_refused(device):
    x = torch.empty(10, 0, device=device)
    assert x[[1, 2]].shape == (2, 0)
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        x[:, [0, 1]]


@pytest.mark.devices("cpu", "cuda")
def test_half_complex_on_the_device(device):
    x = torch.tensor([1 + 2j, 3 - 1j, -0.5j], device=device).to(torch.complex32)
    assert (x + x).tolist() == [2 + 4j, 6 - 2j, -1j]
    assert torch.cat([x, x]).shape == (6,) and x.real.tolist() == [1, 3, 0] and torch.isclose(x, x).all()
    assert torch.full((2,), 3 + 1j, dtype=torch.complex32, device=device).tolist() == [3 + 1j] * 2
    parts = torch.ones(2, dtype=torch.float16, device=device)
    assert torch.complex(parts, parts).dtype == torch.complex32
