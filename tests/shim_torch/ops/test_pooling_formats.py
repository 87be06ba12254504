"""Pooling and convolution: the memory format they keep, empty batches and outputs, and what they refuse."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn

LAST = torch.channels_last
LAYERS = {
    "conv": lambda: nn.Conv2d(4, 3, 3), "conv_transpose": lambda: nn.ConvTranspose2d(4, 3, 3), "batch": lambda: nn.BatchNorm2d(4),
    "group": lambda: nn.GroupNorm(2, 4), "max": lambda: nn.MaxPool2d(2), "avg": lambda: nn.AvgPool2d(2),
    "adaptive_avg": lambda: nn.AdaptiveAvgPool2d(3), "adaptive_max": lambda: nn.AdaptiveMaxPool2d(3),
    "shuffle": lambda: nn.ChannelShuffle(2), "reflect": lambda: nn.ReflectionPad2d(1), "zeros": lambda: nn.ZeroPad2d(1),
    "lp": lambda: nn.LPPool2d(2, 2), "up": lambda: nn.Upsample(scale_factor=2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_channels_last_is_kept_forward_and_backward(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    plain = torch.randn(2, 4, 8, 8, requires_grad=True)
    last = plain.detach().contiguous(memory_format=LAST).requires_grad_()
    y, z = layer(plain), layer(last)
    assert y.is_contiguous() and z.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(y, z)
    weight = torch.randn(y.shape)
    (y * weight).sum().backward()
    (z * weight).sum().backward()
    assert last.grad.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(plain.grad, last.grad)


def test_a_weight_in_channels_last_decides_too():
    conv = nn.Conv2d(3, 4, 3).to(memory_format=LAST)
    assert conv(torch.randn(1, 3, 5, 5)).is_contiguous(memory_format=LAST)
    five = torch.randn(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert nn.MaxPool3d(2)(five).is_contiguous(memory_format=torch.channels_last_3d)


def test_adaptive_mean_of_all_has_the_strides_of_channels_last():
    x = torch.randn(2, 3, 6, 6).contiguous(memory_format=LAST)
    assert F.adaptive_avg_pool2d(x, 1).stride() == (3, 1, 3, 3)


def test_empty_batches():
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        x = torch.ones(0, 4, 6, 6, requires_grad=True)
        y = pool(x, 3)
        y.sum().backward()
        assert y.shape == (0, 4, 3, 3) and x.grad.shape == x.shape
    assert F.fractional_max_pool2d(torch.ones(0, 4, 6, 6), 2, 3).shape == (0, 4, 3, 3)


@pytest.mark.parametrize(
    "name", ["adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool1d", "adaptive_max_pool3d"]
)
def test_outputs_of_nothing_have_no_backward(name):
    n = int(name[-2])
    x = torch.randn(1, 2, *[4] * n, requires_grad=True)
    y = getattr(F, name)(x, 0)
    assert y.shape == (1, 2, *[0] * n)
    with pytest.raises(RuntimeError, match="Expected grad_output to have non-zero size for non-batch dimensions"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: F.fractional_max_pool2d(torch.ones(2, 7, 7), (1,), output_size=3), "fractional_max_pool2d: kernel_size must either be a single Int or tuple of Ints"),
        (lambda: F.fractional_max_pool3d(torch.ones(2, 7, 7, 7), 2, output_size=(1,)), "fractional_max_pool3d: output_size must either be a single Int or tuple of three Ints"),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 2, 7, 7), 2, 1, _random_samples=torch.rand(1, 2, 2)), "Expect _random_samples.size(0) no less then input batch size."),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 2, 7, 7), 2, 1, _random_samples=torch.rand(2, 2)), "Expect _random_samples to have 3 dimensions, got 2"),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 0, 7, 7), 2, 1), "fractional_max_pool2d(): Expected input to have non-zero size for non-batch dimensions, but got[2, 0, 7, 7] with dimension 1 being empty."),
        (lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 1, 1), (2**61, 4)), "Storage size calculation overflowed with sizes=[1, 1, 2305843009213693952, 4]"),
        (lambda: torch._C._nn.max_unpool3d(torch.ones(1, 3, 3, 3, 3), torch.zeros(1, 3, 3, 3, 3, dtype=torch.int64), [4, 4, 4], [1, 1, 1], [0, 0]), "There should be exactly three elements (depth, height, width) in padding, but got: 2 elements."),
        (lambda: torch._C._nn.max_unpool3d(torch.ones(3, 3), torch.zeros(3, 3, dtype=torch.int64), [4, 4, 4], [1, 1, 1], [0, 0, 0]), "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with 2 dimensions."),
        (lambda: F.max_unpool2d(torch.ones(1, 3, 3, 3), torch.full((1, 3, 3, 3), 100), 2), "Found an invalid max index: 100 (output volumes are of size 6x6)"),
        (lambda: F.dropout1d(torch.ones(2)), "dropout1d: Expected 2D or 3D input, but received a 1D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."),
    ],
)  # fmt: skip
def test_refused(run, text):
    with pytest.raises(RuntimeError) as caught:
        run()
    assert str(caught.value) == text


def test_dropout_of_channels():
    torch.manual_seed(0)
    rows = F.dropout1d(torch.ones(64, 5), 0.5)  # (C, L): a channel is a row
    assert set(rows.sum(1).tolist()) == {0.0, 10.0}
    x = torch.ones(8, 16, 3, 3)
    same = F.dropout2d(x, 0.5, inplace=True)
    assert same is x and set(x.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
    blocks = F.dropout3d(torch.ones(32, 2, 2, 2), 0.5)
    assert set(blocks.sum((1, 2, 3)).tolist()) == {0.0, 16.0}
    with pytest.warns(UserWarning, match="Received a 5-D input to dropout2d"):
        F.dropout2d(torch.ones(1, 2, 2, 2, 2))
    with pytest.warns(UserWarning, match="assuming that channel-wise 1D dropout behavior is desired"):
        F.dropout2d(torch.ones(1, 2, 2))
