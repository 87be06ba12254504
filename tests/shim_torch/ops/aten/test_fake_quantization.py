"""Fake quantization against PyTorch 2.13, and by its definition at the edges."""

import math

import numpy as np
import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import fake_quantization_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_values_are_steps_within_the_range(dtype):
    x = torch.linspace(-3, 3, 121, dtype=dtype)
    found = torch.fake_quantize_per_tensor_affine(x, 0.25, 2, -8, 7)
    assert found.dtype == dtype
    steps = np.clip(np.round(x.float().numpy() / np.float32(0.25)) + 2, -8, 7)
    np.testing.assert_array_equal(found.float().numpy(), (steps - 2) * 0.25)


def test_the_gradient_passes_where_values_were_in_range():
    x = torch.tensor([-9.0, -0.3, 0.0, 0.2, 9.0, math.inf], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0, 0]
