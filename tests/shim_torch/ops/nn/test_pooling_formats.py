"""Pools, resizing and padding of pictures in channels_last: values as of contiguous ones, results and gradients in that order."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

CALLS = {
    "avg": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg divisor": lambda x: F.avg_pool2d(x, (1, 2), divisor_override=3),
    "adaptive avg": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive avg of equal parts": lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, (2, 2)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "nearest": lambda x: F.interpolate(x, size=(7, 5)),
    "bicubic": lambda x: F.interpolate(x, size=(4, 11), mode="bicubic"),
    "antialiased": lambda x: F.interpolate(x.float(), size=(4, 5), mode="bilinear", antialias=True),
    "zeros around": lambda x: F.pad(x, (1, 2, 0, 3)),
    "cut and filled": lambda x: F.pad(x, (-1, 2, 3, -2, 1, 0), value=2.5),
    "reflected": lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    "continued": lambda x: F.pad(x, (4, 0, 1, 5), mode="replicate"),
}
OWN_GRADIENTS = {"bicubic"}  # contiguous ones, as PyTorch's


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_channels_last(name, dtype):
    x = torch.randn(2, 6, 9, 8, generator=torch.Generator().manual_seed(1)).to(dtype)
    last = x.to(memory_format=torch.channels_last).requires_grad_()
    plain = x.clone().requires_grad_()
    out, want = CALLS[name](last), CALLS[name](plain)
    assert want.is_contiguous() and out.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(out.detach().contiguous(), want.detach())
    given = torch.randn(want.shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    out.backward(given.to(memory_format=torch.channels_last))
    want.backward(given)
    assert last.grad.is_contiguous(memory_format=torch.channels_last) or name in OWN_GRADIENTS
    torch.testing.assert_close(last.grad.contiguous(), plain.grad)
    with torch.no_grad():
        assert CALLS[name](last).is_contiguous(memory_format=torch.channels_last)


def test_places_of_maxima_lie_in_channels_last():
    x = torch.randn(2, 3, 8, 8)
    for pool in (lambda x: F.max_pool2d(x, 2, return_indices=True), lambda x: F.adaptive_max_pool2d(x, 3, True)):
        (values, places), (want, where) = pool(x.to(memory_format=torch.channels_last)), pool(x)
        assert torch.equal(values, want) and torch.equal(places, where)
        assert values.is_contiguous(memory_format=torch.channels_last) and places.stride() == values.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_maxima_of_lines_at_the_edges(dtype):
    x = torch.randn(2, 37, 6, 7, dtype=dtype)
    x[0, ::3, 1, 2], x[1, 5], x[1, 6, 2:] = float("nan"), -float("inf"), float("inf")
    last = x.to(memory_format=torch.channels_last)
    for settings in ((3, 2, 1), (2, 1, 1, 2), (3, 1, 1, 1, True)):
        for got, want in zip(*(F.max_pool2d(t, *settings, return_indices=True) for t in (last, x)), strict=True):
            assert torch.equal(got.nan_to_num(9.0), want.nan_to_num(9.0)) and got.dtype == want.dtype


def test_gradients_of_means_lie_as_their_inputs():
    x = torch.randn(2, 5, 6, 7, requires_grad=True)
    for pool in (lambda x: F.avg_pool2d(x, 2), lambda x: F.adaptive_avg_pool2d(x, (4, 3))):
        out = pool(x)
        (slope,) = torch.autograd.grad(out, x, torch.ones(out.shape).to(memory_format=torch.channels_last))
        assert slope.is_contiguous()


def test_circular_padding_of_channels_last_is_contiguous():
    x = torch.randn(2, 5, 6, 7)
    got = F.pad(x.to(memory_format=torch.channels_last), (1, 2, 2, 1), mode="circular")
    assert got.is_contiguous() and torch.equal(got, F.pad(x, (1, 2, 2, 1), mode="circular"))
