"""Dtypes and settings that PyTorch's CPU operators refuse, with its errors."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F
from shim_torch.signal import windows

ONES = torch.ones


@pytest.mark.parametrize("function,kernel", [
    (lambda: F.avg_pool2d(ONES(1, 1, 4, 4, dtype=torch.int32), 2), '"avg_pool2d" not implemented for \'Int\''),
    (lambda: F.avg_pool3d(ONES(1, 1, 4, 4, 4, dtype=torch.float16), 2), '"avg_pool3d_out_frame" not implemented for \'Half\''),
    (lambda: F.conv2d(*[ONES(1, 1, 3, 3, dtype=torch.bool)] * 2), '"slow_conv2d_cpu" not implemented for \'Bool\''),
    (lambda: F.conv_transpose2d(*[ONES(1, 1, 3, 3, dtype=torch.int8)] * 2), '"slow_conv_transpose2d_out_cpu" not implemented for \'Char\''),
    (lambda: F.interpolate(ONES(1, 1, 4, dtype=torch.uint8), 2, mode="linear"), '"compute_indices_weights_linear" not implemented for \'Byte\''),
    (lambda: torch.arange(3, dtype=torch.complex64), '"arange_cpu" not implemented for \'ComplexFloat\''),
    (lambda: torch.linspace(0, 1, 3, dtype=torch.bool), '"linspace_cpu" not implemented for \'Bool\''),
    (lambda: torch.tril_indices(2, 2, dtype=torch.int16), '"tril_indices" not implemented for \'Short\''),
    (lambda: F.dropout2d(ONES(1, 2, 3, dtype=torch.complex64)), '"bernoulli_scalar_cpu_" not implemented for \'ComplexFloat\''),
])  # fmt: skip
def test_dtypes_without_a_kernel(function, kernel):
    with pytest.raises(NotImplementedError) as found:
        function()
    assert str(found.value) == kernel


def test_dtypes_that_still_have_one():
    assert F.avg_pool2d(ONES(1, 1, 2, 2, dtype=torch.int64), 2).tolist() == [[[[1]]]]
    assert F.interpolate(ONES(1, 1, 2, dtype=torch.uint8), 4, mode="nearest").tolist() == [[[1, 1, 1, 1]]]
    assert torch.triu_indices(2, 2, dtype=torch.int32).dtype is torch.int32


@pytest.mark.parametrize("function,error,text", [
    (lambda: F.conv1d(ONES(1, 1, 4), ONES(1, 2)), RuntimeError, "weight should have at least three dimensions"),
    (lambda: F.conv1d(ONES(1, 1, 4), ONES(1, 1, 2), dilation=-1), RuntimeError, "dilation should be greater than zero"),
    (lambda: F.adaptive_avg_pool1d(ONES(1, 1, 3), ()), RuntimeError, "adaptive_avg_pool1d() argument 'output_size' should contain one int (got 0)"),
    (lambda: F.adaptive_max_pool2d(ONES(1, 1, 3, 3), (-1, 0)), RuntimeError, "Trying to create tensor with negative dimension -1: [1, 1, -1, 0]"),
    (lambda: F.hardtanh(ONES(1), 0.5, -0.5), ValueError, "min_val cannot be greater than max_val"),
    (lambda: F.softshrink(ONES(1), -0.5), RuntimeError, "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -0.5"),
    (lambda: F.triplet_margin_loss(ONES(3, 4), ONES(3, 4), ONES(3, 4), margin=-1.0), ValueError, "margin must be greater than 0, got -1.0"),
    (lambda: F.margin_ranking_loss(ONES(3), ONES(3)), TypeError, "margin_ranking_loss() missing 1 required positional argument: 'target'"),
    (lambda: torch.fft.fft2(torch.tensor(1.0), dim=(0,)), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: torch.narrow(ONES(3), 0, torch.tensor([1]), 1), RuntimeError, "start must be an 0-dim integral Tensor."),
    (lambda: windows.cosine(3, layout=torch.sparse_coo), ValueError, "cosine is implemented for strided tensors only, got: torch.sparse_coo"),
    (lambda: torch.Tensor.__rmul__(2, ONES(3)), TypeError, "descriptor '__rmul__' for 'torch._C.TensorBase' objects doesn't apply to a 'int' object"),
])  # fmt: skip
def test_settings(function, error, text):
    with pytest.raises(error) as found:
        function()
    assert str(found.value) == text


def test_masks_of_masked_operations():
    x, mask = torch.arange(6.0).reshape(2, 3), torch.tensor([[True, False, True], [False, False, False]])
    masked = torch.masked
    assert masked._input_mask(x, mask=mask[0]).tolist() == [[True, False, True]] * 2
    assert masked._output_mask(masked.sum, x, 1, mask=mask).tolist() == [True, False]
    assert masked._output_mask(masked.softmax, x, 1, mask=mask).tolist() == mask.tolist()
    with pytest.raises(ValueError, match="_input_mask requires explicit mask"):
        masked._input_mask(x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.igamma(torch.tensor([1]), torch.tensor([2])), NotImplementedError, "\"igamma_cpu\" not implemented for 'Long'"),
        (lambda: torch.linalg.cross(torch.ones(3), torch.ones(3).double()), RuntimeError, "expected scalar type Float but found Double"),
        (lambda: torch.complex(torch.ones(1), torch.ones(1).long()), RuntimeError, "Expected both inputs to be Half, Float or Double"),
        (lambda: torch.tensor([2], dtype=torch.uint8) ** -1, RuntimeError, "Integers to negative integer powers are not allowed"),
        (lambda: torch.logaddexp2(torch.ones(1) * 1j, torch.ones(1)), NotImplementedError, "\"logaddexp2_cpu\" not implemented"),
    ],
)  # fmt: skip
def test_dtypes_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
