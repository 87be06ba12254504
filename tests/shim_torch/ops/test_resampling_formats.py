"""Resampled pictures have their channels last where the strides of the source tell of that, in a part of a picture too."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

LAST = torch.channels_last
PARTS = {
    "whole": (lambda x: x, True),
    "middle": (lambda x: x[:, :, 2:-2, 2:-2], True),
    "every other": (lambda x: x[:, :, ::2, ::2], True),
    "one picture, its batch added again": (lambda x: x[0][None], False),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(
    "options",
    [
        {"mode": "nearest"},
        {"mode": "nearest-exact"},
        {"mode": "bilinear"},
        {"mode": "bilinear", "antialias": True},
        {"mode": "bicubic", "align_corners": True},
        {"mode": "bicubic", "antialias": True},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_formats(part, dtype, options):
    take, last = PARTS[part]
    x = take(torch.randint(0, 200, (1, 3, 20, 20)).to(dtype).contiguous(memory_format=LAST))
    y = F.interpolate(x, size=(7, 9), **options)
    assert y.is_contiguous(memory_format=LAST) == last
    assert y.is_contiguous() == (not last)
    assert torch.equal(y, F.interpolate(x.contiguous(), size=(7, 9), **options)) or dtype == torch.float32
    # Of weighted numbers up to 200 a small rest may be left: as much as these lose, whatever is left of them.
    torch.testing.assert_close(
        y.contiguous(), F.interpolate(x.contiguous(), size=(7, 9), **options), rtol=1.3e-6, atol=2e-4
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_dtypes_of_antialiasing(mode, dtype):
    with pytest.raises(NotImplementedError, match='"compute_index_ranges_weights" not implemented for'):
        F.interpolate(torch.ones(1, 3, 8, 8, dtype=dtype), size=(4, 4), mode=mode, antialias=True)


def test_an_absent_gradient_passes_and_sizes_beyond_64_bits_are_refused():
    leaf = torch.randn(1, 2, 2, 2, requires_grad=True)
    result = F.interpolate(leaf.contiguous(memory_format=LAST), size=4, mode="nearest")
    absent = torch._C._functions.UndefinedGrad()(result)
    assert torch.autograd.grad(absent, leaf, torch.ones_like(absent), allow_unused=True) == (None,)
    for factor in (1e20, -1e20, float("nan")):
        with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
            F.interpolate(torch.ones(1, 1, 16, 16), scale_factor=factor, mode="bilinear")
