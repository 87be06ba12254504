"""The reference bodies of shuffled pixels and frames, which CUDA has kernels for, against the functions on the CPU."""

from __future__ import annotations

import pytest

import shim_torch as torch

F, shim = torch.nn.functional, torch.ops.shim


@pytest.mark.parametrize("r", (1, 2, 3))
def test_shuffled_pixels(r):
    x = torch.randn(2, 2 * r * r, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(shim.shuffle_pixels(x, r, True), F.pixel_shuffle(x, r))
    assert torch.equal(shim.shuffle_pixels(F.pixel_shuffle(x, r), r, False), x)
    assert torch.autograd.gradcheck(lambda t: shim.shuffle_pixels(t, r, True), x)


@pytest.mark.parametrize("pad", ((2, 1), (0, 2, 1, 3), (-1, 2, 2, -2)), ids=str)
@pytest.mark.parametrize("mode", ("reflect", "replicate"))
def test_frames(mode, pad):
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    x = x if len(pad) > 2 else x[0]
    reflect = mode == "reflect"
    assert torch.equal(shim.reflect_replicate_pad(x, pad, reflect), F.pad(x, pad, mode))
    weigh = torch.randn_like(F.pad(x, pad, mode))
    (theirs,) = torch.autograd.grad(F.pad(x, pad, mode), x, weigh)
    torch.testing.assert_close(shim.reflect_replicate_pad_backward(weigh, x.shape, pad, reflect), theirs)
    torch.testing.assert_close(torch.autograd.grad(shim.reflect_replicate_pad(x, pad, reflect), x, weigh)[0], theirs)
