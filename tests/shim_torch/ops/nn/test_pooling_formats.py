"""Pools and resizing of pictures in channels_last: values as of contiguous ones, results and gradients in that order."""

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
}


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
    assert last.grad.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(last.grad.contiguous(), plain.grad)
    with torch.no_grad():
        assert CALLS[name](last).is_contiguous(memory_format=torch.channels_last)


def test_places_of_maxima_lie_in_channels_last():
    x = torch.randn(2, 3, 8, 8)
    for pool in (lambda x: F.max_pool2d(x, 2, return_indices=True), lambda x: F.adaptive_max_pool2d(x, 3, True)):
        (values, places), (want, where) = pool(x.to(memory_format=torch.channels_last)), pool(x)
        assert torch.equal(values, want) and torch.equal(places, where)
        assert values.is_contiguous(memory_format=torch.channels_last) and places.stride() == values.stride()
