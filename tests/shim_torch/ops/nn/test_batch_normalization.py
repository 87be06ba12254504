"""Batch normalisation: against its definition, running statistics, gradients."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn import functional as F

check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5), (2, 4, 3, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training):
    x, w, b = leaf(*shape), leaf(4), leaf(4)
    mean, var = torch.randn(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 0.5
    kept = (mean.clone(), var.clone())
    y = F.batch_norm(x, mean, var, w, b, training, 0.3, 1e-3).detach().numpy()
    a, axes, along = x.detach().numpy(), tuple(d for d in range(len(shape)) if d != 1), (1, -1, *[1] * (len(shape) - 2))
    m, v = (a.mean(axes), a.var(axes)) if training else (t.numpy() for t in kept)
    want = (a - m.reshape(along)) / np.sqrt(v.reshape(along) + 1e-3) * w.detach().numpy().reshape(
        along
    ) + b.detach().numpy().reshape(along)
    np.testing.assert_allclose(y, want, rtol=1e-10, atol=1e-12)
    if training:
        n = a.size // 4
        np.testing.assert_allclose(mean.numpy(), 0.7 * kept[0].numpy() + 0.3 * m, rtol=1e-12)
        np.testing.assert_allclose(var.numpy(), 0.7 * kept[1].numpy() + 0.3 * v * n / (n - 1), rtol=1e-12)
    call = lambda x, w, b: F.batch_norm(x, *kept, w, b, training, 0.0)
    assert check(call, (x, w, b), fast_mode=True) and check_twice(call, (x, w, b), fast_mode=True)
    assert check(lambda x: F.batch_norm(x, *kept, training=training, momentum=0.0), (x,), fast_mode=True)


def test_eval_statistics_that_move_after_the_forward_are_missed():
    bn, x = torch.nn.BatchNorm1d(3).eval(), torch.randn(5, 3, requires_grad=True)
    bn(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((5, 3), 1 / math.sqrt(1 + 1e-5)), rtol=1e-6)
    y = bn(x)
    bn.running_mean.add_(1.0)
    assert bn.running_mean.grad_fn is None
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_three_outputs_of_batch_norm():
    x = torch.arange(12.0).reshape(2, 3, 2)
    outs = tuple(torch.zeros(0) for _ in range(3))
    given = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, out=outs)
    assert all(a is b for a, b in zip(given, outs, strict=True))
    torch.testing.assert_close(outs[1], torch.tensor([3.5, 5.5, 7.5]))
    torch.testing.assert_close(outs[0], F.batch_norm(x, None, None, training=True))


def test_batch_norm_wants_a_positive_eps():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
        nn.BatchNorm1d(3, eps=0)(x)
    with pytest.raises(ValueError, match="eps must be non-negative, but got -1.0"):
        nn.BatchNorm1d(3, eps=-1.0).eval()(x)
    assert nn.BatchNorm1d(3, eps=0).eval()(x).tolist() == [[1.0] * 3] * 2


def test_instance_norm_checks_the_channels():
    with pytest.raises(ValueError, match=r"size at dim=1 to match num_features \(4\), but got: 2"):
        nn.InstanceNorm1d(4, affine=True)(torch.ones(2, 2, 3))
    with pytest.raises(ValueError, match=r"size at dim=0 to match num_features \(4\), but got: 2"):
        nn.InstanceNorm1d(4, affine=True)(torch.ones(2, 3))
    with pytest.warns(UserWarning, match="which is not used because affine=False"):
        nn.InstanceNorm2d(4)(torch.randn(2, 2, 3, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(2, 5, 7, 9), (1, 70, 3, 4), (3, 200, 1, 6)])
@pytest.mark.parametrize("training", [True, False])
def test_channels_last(dtype, shape, training):
    draw = torch.Generator().manual_seed(0)
    x, g = (torch.randn(shape, generator=draw).to(dtype) for _ in range(2))
    weight, bias = (torch.randn(shape[1], generator=draw).to(dtype).requires_grad_() for _ in range(2))
    found = []
    for format in (torch.contiguous_format, torch.channels_last):
        seen = x.clone(memory_format=format).requires_grad_()
        statistics = torch.zeros(shape[1], dtype=dtype), torch.ones(shape[1], dtype=dtype)
        y = torch.nn.functional.batch_norm(seen, *statistics, weight, bias, training)
        slopes = torch.autograd.grad(y, (seen, weight, bias), g)
        assert y.is_contiguous(memory_format=format) and slopes[0].is_contiguous(memory_format=format)
        found.append((y, *slopes, *statistics))
    for plain, last in zip(*found, strict=True):
        torch.testing.assert_close(last, plain, check_stride=False)
