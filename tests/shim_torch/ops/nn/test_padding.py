"""Tensors padded by numbers, reflections, edges and themselves: against NumPy, gradients, frames."""

import math

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

from ..checked_calls import both


@pytest.mark.parametrize("pad", [(1, 2), (1, 2, 3, 0), (0, 0, 2, 2), (-1, 2, 1, -2)])
def test_pads(image, pad):
    width = [(0, 0)] * (4 - len(pad) // 2) + [
        (max(a, 0), max(b, 0)) for a, b in zip(pad[-2::-2], pad[::-2], strict=True)
    ]
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        for x in (image, image.transpose(2, 3)) if len(pad) == 4 or mode == "constant" else (image[0],):
            found = both(lambda t, m=mode: F.pad(t, pad, mode=m), x)
            if min(pad) >= 0:
                assert np.array_equal(found.numpy(), np.pad(x.numpy(), width[-x.dim() :], mode=name))
    assert F.pad(torch.arange(3), (1, 1), value=7).tolist() == [7, 0, 1, 2, 7]
    assert np.array_equal(
        F.pad(image, pad, value=-math.inf).numpy() == -math.inf,
        F.pad(torch.zeros_like(image), pad, value=1).numpy() == 1,
    )


def test_pads_that_reach_too_far_are_refused(image):
    with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
        F.pad(image, (9, 0, 0, 0), mode="reflect")
    with pytest.raises(RuntimeError, match="wrapping around more than once"):
        F.pad(image, (10, 0, 0, 0), mode="circular")


def test_the_gradient_of_a_pad_is_a_pad(image):
    x = image.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: F.pad(t, (1, -2, -1, 1), value=3.0), (x,))
    assert torch.autograd.gradgradcheck(lambda t: F.pad(t, (1, -2, -1, 1), value=3.0).square(), (x,))


shim = torch.ops.shim


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


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(0, 0, 0, 0), (0, 0, -1, -1), (-1, 0, 0, 0)])
def test_padding_gives_memory_of_its_own(mode, pad):
    x = torch.zeros(1, 2, 4, 4)
    out = F.pad(x, pad, mode=mode)
    out.fill_(3)
    assert x.abs().sum().item() == 0 and out.is_contiguous()
    assert out.shape == (1, 2, 4 + pad[2] + pad[3], 4 + pad[0] + pad[1])


def test_replication_wants_a_pair_a_dim():
    with pytest.raises(RuntimeError, match="padding size is expected to be 4"):
        torch._C._nn.replication_pad2d(torch.ones(2), padding=[])
    with pytest.raises(RuntimeError, match="padding size is expected to be 2, but got: 0"):
        torch._C._nn.reflection_pad1d(torch.ones(2), padding=[])
