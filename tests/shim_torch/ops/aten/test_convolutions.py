"""Convolutions by the names of PyTorch's kernels against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import convolutions_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_depthwise_kernels_are_convolutions_of_each_channel():
    x, w, b = pattern(torch, 2, 3, 5, 6), pattern(torch, 6, 1, 3, 2, seed=2), pattern(torch, 6, seed=3)
    found = torch.ops.aten._conv_depthwise2d(x, w, [3, 2], b, [1, 2], [1, 0], [1, 1])
    for channel in range(6):
        alone = torch.conv2d(x[:, channel // 2, None], w[channel, None], b[channel, None], [1, 2], [1, 0])
        torch.testing.assert_close(found[:, channel, None], alone)
    volume, v = pattern(torch, 1, 2, 3, 4, 4), pattern(torch, 2, 1, 2, 2, 2, seed=4)
    found = torch.ops.aten.conv_depthwise3d(volume, v, [2, 2, 2], None, [1, 1, 1], [0, 0, 0], [1, 1, 2])
    torch.testing.assert_close(found[:, :1], torch.conv3d(volume[:, :1], v[:1], dilation=(1, 1, 2)))
