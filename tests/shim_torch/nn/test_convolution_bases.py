"""Classes that libraries derive convolutions from; expected values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn.modules.conv import _ConvTransposeMixin, _ConvTransposeNd

ARGUMENTS = (2, 3, (2,), (2,), (1,), (3,), True, (1,), 1, False, "zeros")  # dilation before transposed, as in _ConvNd


def test_a_transposed_convolution_takes_the_arguments_of_every_convolution():
    made = _ConvTransposeNd(*ARGUMENTS)
    assert (made.dilation, made.transposed, made.output_padding, made.bias) == ((3,), True, (1,), None)
    assert tuple(made.weight.shape) == (2, 3, 2)
    public = torch.nn.ConvTranspose1d(2, 3, 2, 2, 1, 1, 1, False, 3)
    assert str(made) == str(public).replace("ConvTranspose1d", "_ConvTransposeNd")
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for _ConvTransposeNd'):
        _ConvTransposeNd(*ARGUMENTS[:-1], "reflect")


def test_the_deprecated_base_warns():
    class Own(_ConvTransposeMixin):
        def forward(self, x):
            return x

    with pytest.warns(FutureWarning, match="`_ConvTransposeMixin` is a deprecated internal class"):
        made = Own(*ARGUMENTS)
    assert isinstance(made, _ConvTransposeNd) and not isinstance(torch.nn.ConvTranspose1d(1, 1, 1), _ConvTransposeMixin)
