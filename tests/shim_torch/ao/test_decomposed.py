"""``torch.ops.quantized_decomposed`` by the formulas, and what it refuses."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.ao.quantization.fx import _decomposed

ops = torch.ops.quantized_decomposed
X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32) * 3
x = torch.from_numpy(X)
SCALES, ZEROS = torch.tensor([0.1, 0.2, 0.05, 0.3]), torch.tensor([0, 3, -2, 1])


def _quantized(values, scale, zero, low, high):
    return np.clip(np.round(values * (np.float32(1) / np.asarray(scale, np.float32))) + zero, low, high)


def test_one_scale():
    found = ops.quantize_per_tensor(x, 0.07, 3, -128, 127, torch.int8)
    assert found.dtype == torch.int8
    np.testing.assert_array_equal(found.numpy(), _quantized(X, 0.07, 3, -128, 127))
    by_tensors = ops.quantize_per_tensor.tensor2(
        x, torch.tensor(0.07, dtype=torch.float64), torch.tensor(3), torch.tensor(-128), torch.tensor(127), torch.int8
    )
    assert torch.equal(by_tensors, found)
    back = ops.dequantize_per_tensor(found, 0.07, 3, -128, 127, torch.int8, out_dtype=torch.float16)
    assert back.dtype == torch.float16
    np.testing.assert_allclose(back.float().numpy(), (found.numpy() - 3.0) * 0.07, rtol=2e-3)


def test_parameters_reach_from_the_least_to_the_greatest():
    scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
    assert (scale.dtype, zero.dtype, tuple(scale.shape)) == (torch.float64, torch.int64, (1,))
    assert scale.item() == pytest.approx((X.max() - X.min()) / 255, rel=1e-6)
    assert zero.item() == -128 - round(float(X.min()) / scale.item())
    scale, zero = ops.choose_qparams_symmetric.tensor(x, -127, 127, 1e-6, torch.int8)
    assert (scale.item(), zero.item()) == (pytest.approx(np.abs(X).max() / 127, rel=1e-6), 0)


def test_channels_and_their_gradient():
    q = ops.quantize_per_channel(x, SCALES, ZEROS, 0, -128, 127, torch.int8)
    s, z = SCALES.numpy()[:, None], ZEROS.numpy()[:, None]
    np.testing.assert_array_equal(q.numpy(), _quantized(X, s, z, -128, 127))
    found = ops.dequantize_per_channel(q, SCALES, ZEROS, 0, -128, 127, torch.int8)
    np.testing.assert_allclose(found.numpy(), (q.numpy() - z) * s, rtol=1e-6)
    given = x.clone().requires_grad_()
    out = ops.fake_quant_per_channel(given, SCALES, ZEROS, 0, -10, 10)
    out.sum().backward()
    unclamped = np.round(X * (np.float32(1) / s)) + z
    np.testing.assert_allclose(out.detach().numpy(), (np.clip(unclamped, -10, 10) - z) * s, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(given.grad.numpy(), (np.abs(unclamped) <= 10).astype(np.float32))


def test_rows_and_groups():
    scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
    assert scale.shape == (4, 1) and zero.dtype == torch.int64
    q = ops.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
    back = ops.dequantize_per_token(q, scale, zero, -128, 127, torch.int8, torch.float32)
    assert ((back - x).abs() <= scale.float() * 0.51).all()
    scales, zeros = torch.full((4, 2), 0.5), torch.ones(4, 2, dtype=torch.int32)
    q = ops.quantize_per_channel_group(x, scales, zeros, -8, 7, torch.int8, 4)
    np.testing.assert_array_equal(q.numpy(), _quantized(X, 0.5, 1, -8, 7))
    back = ops.dequantize_per_channel_group(q, scales, None, -8, 7, torch.int8, 4, torch.float32)
    np.testing.assert_array_equal(back.numpy(), q.numpy() * np.float32(0.5))


def test_what_is_refused():
    with pytest.raises(
        AssertionError, match="quant_min out of bounds for dtype, quant_min_lower_bound: -128 quant_min: -129"
    ):
        ops.quantize_per_tensor(x, 0.1, 0, -129, 127, torch.int8)
    with pytest.raises(AssertionError, match="Expecting input to have dtype: torch.int8, but got torch.float32"):
        ops.dequantize_per_tensor(x, 0.1, 0, -128, 127, torch.int8)
    with pytest.raises(ValueError, match="Unsupported dtype: torch.int64"):
        ops.quantize_per_tensor(x, 0.1, 0, -128, 127, torch.int64)
    with pytest.raises(AssertionError, match="Used-specified quantization range must include 0."):
        ops.choose_qparams.tensor(x, 5, 6, 1e-6, torch.int8)
    with pytest.raises(AssertionError, match="num_tokens: 4 scales:"):
        _decomposed._per_token_quant_qparam_dim_check(x, SCALES[:2], ZEROS)


def test_bounds_of_rows():
    rows = torch.tensor([[-1.0, 2.54], [0.0, 0.0], [3.0, 1.0]])
    scale, zero = ops._choose_qparams_per_token_asymmetric_impl(rows, torch.int8)
    assert (scale.dtype, zero.dtype) == (torch.float64, torch.int64)
    np.testing.assert_allclose(scale.flatten(), [3.54 / 255, np.finfo(np.float32).eps, 3 / 255], rtol=1e-6)
    assert zero.flatten().tolist() == [-56, 127, -128]
    scale, zero = ops.choose_qparams_per_token(rows.half(), torch.int8)
    assert scale.dtype == torch.float32 and zero.tolist() == [[0], [0], [0]]
    np.testing.assert_allclose(scale.flatten(), [2.54 / 127, 1e-5 / 127, 3 / 127], rtol=1e-3)


def test_refusals_of_groups_and_dtypes():
    with pytest.raises(AssertionError, match="^group_size must be > 1$"):
        ops.quantize_per_channel_group(x, SCALES.reshape(4, 1), ZEROS.reshape(4, 1), -128, 127, torch.int8, 1)
    with pytest.raises(AssertionError, match="Expecting input to have dtype: torch.uint8, but got dtype: torch.int8"):
        ops.dequantize_per_channel(x.to(torch.int8), SCALES, ZEROS, 0, -128, 127, torch.uint8)
