"""Means over windows and norms over channels, one kernel each: against their records' bodies and against tensor operations."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.shim import image_kernels

from ..expressions import pattern

F, shim = torch.nn.functional, torch.ops.shim

WINDOWS = [
    ((2, 2), (2, 2), (0, 0), False, True, 0),
    ((3, 2), (2, 1), (1, 0), True, False, 0),
    ((3, 3), (2, 2), (1, 1), True, True, 0),
    ((2, 3), (1, 2), (1, 1), False, True, 5),
]


@pytest.mark.parametrize("settings", WINDOWS, ids=str)
def test_means_over_windows(settings):
    x = pattern(torch, 2, 3, 6, 7).double()
    found = shim.mean_pool(x, *settings)
    kernel, stride, padding, ceil_mode, include_pad, divisor = settings
    plain = F.avg_pool2d(x.requires_grad_(), kernel, stride, padding, ceil_mode, include_pad, divisor or None)
    torch.testing.assert_close(found, plain.detach())
    body = image_kernels.mean_pool(np, x.detach().numpy(), *settings)
    np.testing.assert_allclose(found.numpy(), body, rtol=1e-12)
    g = pattern(torch, *found.shape, seed=2).double()
    (wanted,) = torch.autograd.grad(plain, x, g)
    by_name = shim.mean_pool_backward(g, [6, 7], kernel, stride, padding, include_pad, divisor)
    torch.testing.assert_close(by_name, wanted)
    body = image_kernels.mean_pool_backward(np, g.numpy(), (6, 7), kernel, stride, padding, include_pad, divisor)
    np.testing.assert_allclose(by_name.numpy(), body, rtol=1e-12, atol=1e-14)
    call = lambda t: shim.mean_pool(t, *settings)
    assert torch.autograd.gradcheck(call, (x,), fast_mode=True)
    assert torch.autograd.gradgradcheck(call, (x,), fast_mode=True)


def test_a_window_without_a_step_is_refused():
    with pytest.raises(RuntimeError, match="stride should not be zero"):
        shim.mean_pool(torch.ones(1, 4, 4), (2, 2), (0, 1), (0, 0), False, True, 0)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("of_batch", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 5)], ids=str)
def test_norms_over_channels(shape, of_batch, affine):
    x = pattern(torch, *shape).double().requires_grad_()
    weight, bias = (pattern(torch, 3, seed=s).double().requires_grad_() if affine else None for s in (2, 3))
    given = (
        (None, None)
        if of_batch
        else (pattern(torch, 3, seed=4).double(), pattern(torch, 3, seed=5).double().abs() + 0.3)
    )
    found, mean, variance = shim.channel_norm(x, weight, bias, *given, of_batch, 1e-3)
    over = [d for d in range(x.dim()) if d != 1]
    wide = [1, 3, *[1] * (x.dim() - 2)]
    if of_batch:
        given = (x.mean(over), x.var(over, correction=0))
    if of_batch:
        torch.testing.assert_close((mean, variance), tuple(t.detach() for t in given))
    else:
        assert mean.shape == variance.shape == (0,)
        mean, variance = given
    wanted = (x - given[0].view(wide)) / (given[1].view(wide) + 1e-3).sqrt()
    if affine:
        wanted = wanted * weight.view(wide) + bias.view(wide)
    torch.testing.assert_close(found, wanted)
    leaves = [t for t in (x, weight, bias) if t is not None]
    g = pattern(torch, *shape, seed=6).double()
    expected = torch.autograd.grad(wanted, leaves, g)
    torch.testing.assert_close(torch.autograd.grad(found, leaves, g, retain_graph=True), expected)
    one, two, three = shim.channel_norm_backward(g, x.detach(), weight, mean, variance, 1e-3, of_batch)
    torch.testing.assert_close(one.detach(), expected[0])
    if affine:
        torch.testing.assert_close((two.detach(), three.detach()), expected[1:])
    if not of_batch or shape != (4, 3):
        call = lambda *t: shim.channel_norm(
            *t, *[None] * (3 - len(t)), *((None, None) if of_batch else given), of_batch, 1e-3
        )[0]
        assert torch.autograd.gradgradcheck(call, leaves, fast_mode=True)


def test_statistics_of_halves_are_wide():
    x = pattern(torch, 4, 3, 5).bfloat16()
    y, mean, variance = shim.channel_norm(x, None, None, None, None, True, 1e-5)
    assert (y.dtype, mean.dtype, variance.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    torch.testing.assert_close(mean, x.float().mean((0, 2)), rtol=1e-5, atol=1e-6)
