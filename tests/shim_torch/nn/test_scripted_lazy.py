"""torch.jit.script of modules whose parameters have no shape yet, and pixels in channels_last; texts and strides are PyTorch's."""

import pytest

import shim_torch as torch


def test_modules_without_shapes_are_refused():
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(3))
    text = "'torch.nn.modules.linear.LazyLinear' has uninitialized parameters weight. Did you forget to run a forward pass?"
    with pytest.raises(RuntimeError, match=text):
        torch.jit.script(lazy)
    lazy(torch.ones(2, 4))
    assert torch.jit.script(lazy) is lazy
    assert torch.jit.script(len) is len


def test_pixels_keep_channels_last():
    x = torch.arange(2 * 8 * 6 * 6.0).reshape(2, 8, 6, 6)
    y = x.to(memory_format=torch.channels_last)
    for f in (lambda t: torch.pixel_shuffle(t, 2), lambda t: torch.pixel_unshuffle(t, 2)):
        assert torch.equal(f(x), f(y))
        assert f(y).is_contiguous(memory_format=torch.channels_last) and f(x).is_contiguous()
    assert torch.pixel_unshuffle(y, 2).stride() == (288, 1, 96, 32)
