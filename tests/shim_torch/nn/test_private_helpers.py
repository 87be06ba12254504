"""Private helpers of torch.nn.functional and base classes of layers that libraries import."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn
from shim_torch.nn.common_types import _size_2_t


def test_private_helpers_of_functional():
    mask = F._canonical_mask(torch.tensor([True, False]), "m", None, "o", torch.float32)
    assert mask.tolist() == [-float("inf"), 0.0]
    assert F._none_or_dtype(None) is None and F._none_or_dtype(mask) == torch.float32
    q = torch.randn(2, 1, 4)
    w = torch.randn(12, 4)
    packed = F._in_projection_packed(q, q, q, w)
    assert torch.equal(packed[1], F.linear(q, w[4:8]))
    with pytest.raises(AssertionError, match="expecting key weights shape of"):
        F._in_projection(q, q, q, w[:4], w[:3], w[:4])
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        F._verify_batch_size((1, 3, 1))
    assert F._pair(3) == (3, 3) and F.torch is torch and _size_2_t is not None


def test_layers_have_the_bases_that_libraries_ask_for():
    modules = nn.modules
    assert issubclass(nn.MaxPool2d, modules.pooling._MaxPoolNd)
    assert issubclass(nn.AdaptiveAvgPool1d, modules.pooling._AdaptiveAvgPoolNd)
    assert issubclass(nn.ZeroPad2d, nn.ConstantPad2d) and issubclass(
        nn.ReflectionPad1d, modules.padding._ReflectionPadNd
    )
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"
    assert nn.MaxUnpool2d.__module__ == "torch.nn.modules.pooling"
    assert modules.activation.MultiheadAttention is nn.MultiheadAttention

    class Focal(modules.loss._WeightedLoss):
        def __init__(self, weight=None, gamma=2):
            super().__init__(weight, reduction="sum")
            self.gamma = gamma

    loss = Focal(torch.ones(3))
    assert loss.reduction == "sum" and loss.state_dict()["weight"].tolist() == [1.0] * 3
