"""Convolutions of inputs without channels: outputs without channels, gradients of zeros, as PyTorch's."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("biased", [True, False])
def test_no_channels_in_none_out(n, biased):
    conv = getattr(F, f"conv{n}d")
    w = torch.randn(8, 0, *[2] * n, requires_grad=True)
    b = torch.randn(8, requires_grad=True) if biased else None
    x = torch.randn(2, 0, *[6] * n, requires_grad=True)
    out = conv(x, w, b)
    assert tuple(out.shape) == (2, 0, *[5] * n)
    out.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape
    if biased:
        assert b.grad.tolist() == [0.0] * 8


def test_channels_that_do_not_fit_still_raise():
    with pytest.raises(RuntimeError, match="Given groups=1, weight of size"):
        F.conv2d(torch.randn(2, 1, 4, 0), torch.randn(8, 0, 2, 2))
