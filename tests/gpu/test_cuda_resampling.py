"""Images at other sizes on CUDA, with their gradients, against float64 on the CPU."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.arrays import counters
from shim_torch.nn.functional import interpolate

CLOSE = {torch.float64: 1e-9, torch.float32: 3e-5, torch.bfloat16: 4e-2, torch.float16: 6e-3}
CASES = [
    ((2, 3, 11), dict(size=7, mode="linear")),
    ((2, 3, 11), dict(size=23, mode="nearest")),
    ((2, 3, 7, 9), dict(size=(13, 5), mode="bilinear", align_corners=True)),
    ((2, 3, 7, 9), dict(scale_factor=2.3, mode="bilinear")),
    ((2, 3, 7, 9), dict(size=(1, 30), mode="bicubic")),
    ((2, 3, 17, 9), dict(size=(5, 4), mode="bilinear", antialias=True)),
    ((2, 3, 17, 9), dict(size=(5, 20), mode="bicubic", antialias=True)),
    ((2, 3, 7, 9), dict(size=(15, 3), mode="nearest-exact")),
    ((2, 3, 4, 5, 6), dict(size=(8, 3, 7), mode="trilinear")),
    ((2, 3, 4, 5, 6), dict(scale_factor=2, mode="nearest")),
]


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("shape, how", CASES, ids=str)
@pytest.mark.parametrize("layout", ("contiguous", "transposed", "last"))
def test_values_and_gradients(layout, shape, how, dtype, seeded):
    x = torch.randn(shape).to(dtype)
    if layout == "transposed":
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    elif layout == "last" and x.dim() == 4:
        x = x.to(memory_format=torch.channels_last)
    sides = []
    for device, kind in (("cuda", dtype), ("cpu", torch.float64)):
        own = x.to(device, kind).requires_grad_()
        y = interpolate(own, **how)
        weigh = torch.cos(torch.arange(y.numel(), dtype=torch.float64)).reshape(y.shape).to(dtype)
        sides.append([y.detach(), *torch.autograd.grad(y, own, weigh.to(device, kind))])
    assert sides[0][0].is_contiguous(
        memory_format=torch.channels_last if layout == "last" and x.dim() == 4 else torch.contiguous_format
    )
    for mine, theirs in zip(*sides, strict=True):
        assert mine.shape == theirs.shape and mine.dtype == dtype
        assert float((mine.cpu().double() - theirs).abs().max()) <= CLOSE[dtype] * max(1.0, float(theirs.abs().max()))


def test_no_kernel_of_cupy(seeded):
    x = torch.randn(2, 3, 8, 8, device="cuda", requires_grad=True)
    for _ in range(2):
        before = dict(counters)
        for mode in ("nearest", "bilinear", "bicubic"):
            interpolate(x, scale_factor=2, mode=mode).sum().backward()
        after = dict(counters)
    assert after == before


def test_gradients_of_gradients(seeded):
    x = torch.randn(1, 2, 4, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: interpolate(t, size=(7, 3), mode="bilinear"), (x,))
    assert torch.autograd.gradgradcheck(lambda t: interpolate(t, size=(7, 3), mode="bicubic"), (x,))
