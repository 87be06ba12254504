"""torch.nn.utils.clip_grad: gradients scaled to a norm."""

import pytest

import shim_torch as torch
from shim_torch import nn


def test_gradients_scaled_with_a_norm_that_is_known():
    p = nn.Parameter(torch.ones(2))
    p.grad = torch.tensor([3.0, 4.0])
    nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(5.0))
    assert p.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)
