"""Convolutions by the functions of one, two and three dims: single images, no channels, gradients by torch.nn.grad."""

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("biased", [True, False])
def test_no_channels_in_none_out(n, biased):
    conv = getattr(F, f"conv{n}d")
    w = torch.randn(8, 0, *[2] * n, requires_grad=True)
    b = torch.randn(8, requires_grad=True) if biased else None
    x = torch.randn(2, 0, *[6] * n, requires_grad=True)
    out = conv(x, w, b)
    assert tuple(out.shape) == (2, 0, *[5] * n)
    out.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape
    if biased:
        assert b.grad.tolist() == [0.0] * 8


def test_channels_that_do_not_fit_still_raise():
    with pytest.raises(RuntimeError, match="Given groups=1, weight of size"):
        F.conv2d(torch.randn(2, 1, 4, 0), torch.randn(8, 0, 2, 2))


check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


def test_convolution_of_lines_single_images_and_halves():
    x, w = leaf(2, 3, 11), leaf(4, 3, 3)
    assert check(lambda x, w: F.conv1d(x, w, None, 2, 1), (x, w), fast_mode=True)
    line = F.conv1d(x, w, None, 2, 1).detach()
    image = F.conv2d(x.unsqueeze(2), w.unsqueeze(2), None, (1, 2), (0, 1)).detach()
    assert torch.equal(line, image.squeeze(2))
    assert F.conv2d(torch.ones(3, 4, 4), torch.ones(2, 3, 1, 1)).tolist() == torch.full((2, 4, 4), 3.0).tolist()
    half = F.conv2d(
        torch.ones(1, 2, 3, 3, dtype=torch.bfloat16), torch.ones(1, 2, 3, 3, dtype=torch.bfloat16), padding=1
    )
    assert half.dtype == torch.bfloat16 and half[0, 0].tolist() == [[8, 12, 8], [12, 18, 12], [8, 12, 8]]
    last = torch.randn(2, 4, 5, 5).contiguous(memory_format=torch.channels_last)
    assert F.conv2d(last, torch.randn(3, 4, 3, 3)).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    "stride, padding, dilation, groups",
    [(1, 1, 1, 1), ((2, 1, 1), (0, 2, 1), (2, 1, 1), 2), ((3, 2, 1), (2, 0, 1), (1, 2, 2), 4)],
)
def test_convolutions_of_volumes(stride, padding, dilation, groups):
    torch.manual_seed(0)
    x, w, b = (
        torch.randn(2, 4, 6, 5, 7, dtype=torch.float64),
        torch.randn(8, 4 // groups, 3, 2, 3, dtype=torch.float64),
        torch.randn(8, dtype=torch.float64),
    )
    y = F.conv3d(x, w, b, stride, padding, dilation, groups)
    s, p, d = (v if isinstance(v, tuple) else (v,) * 3 for v in (stride, padding, dilation))
    deep = np.pad(x.numpy(), [(0, 0), (0, 0), (p[0], p[0]), (0, 0), (0, 0)])
    for z in range(y.size(2)):  # the sum of the convolutions of the slices that a window holds
        parts = [
            F.conv2d(
                torch.from_numpy(np.ascontiguousarray(deep[:, :, z * s[0] + k * d[0]])),
                w[:, :, k].contiguous(),
                None,
                s[1:],
                p[1:],
                d[1:],
                groups,
            )
            for k in range(3)
        ]
        assert np.allclose(y[:, :, z].numpy(), sum(t.numpy() for t in parts) + b.numpy()[:, None, None])
    small = (x[:1].requires_grad_(), w.requires_grad_(), b.requires_grad_())
    g = torch.randn_like(F.conv3d(*small, stride, padding, dilation, groups))
    slopes = torch.autograd.grad(F.conv3d(*small, stride, padding, dilation, groups), small, g)
    for t, slope in zip(
        small, slopes, strict=True
    ):  # linear in each: along a direction, the change is the product with the gradient
        step = torch.randn_like(t)
        moved = [v.detach() + step if v is t else v.detach() for v in small]
        change = F.conv3d(*moved, stride, padding, dilation, groups) - F.conv3d(
            *[v.detach() for v in small], stride, padding, dilation, groups
        )
        assert np.allclose((change * g).sum().item(), (slope * step).sum().item())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_slopes_of_transposed_convolutions_whose_output_padding_reaches_beyond_all_windows(dims):
    """Kernels of one element: what is added to the output comes from no input, and leaves the slopes as they are without it."""
    draws = torch.Generator().manual_seed(dims)
    size, run = (3, 4, 2)[:dims], getattr(F, f"conv_transpose{dims}d")
    x = torch.randn(2, 4, *size, generator=draws).requires_grad_()
    w = torch.randn(4, 3, *[1] * dims, generator=draws).requires_grad_()
    g = torch.randn(2, 3, *[n + 1 for n in size], generator=draws)
    found = torch.autograd.grad(run(x, w, None, 1, 0, 1, 1, 2), [x, w], g)
    cut = g[(..., *[slice(n) for n in size])]
    torch.testing.assert_close(found, torch.autograd.grad(run(x, w), [x, w], cut))
    assert found[0].is_contiguous()


def test_convolution_gradients():
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 5, requires_grad=True)
    w = torch.randn(6, 2, 3, 3, requires_grad=True)
    out = torch.nn.functional.conv2d(x, w, stride=2, padding=1, groups=2)
    g = torch.randn(out.shape)
    out.backward(g)
    settings = {"stride": 2, "padding": 1, "groups": 2}
    mine = torch.nn.grad.conv2d_input(x.shape, w, g, **settings)
    np.testing.assert_allclose(mine.detach().numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-5)
    mine = torch.nn.grad.conv2d_weight(x, w.shape, g, **settings)
    np.testing.assert_allclose(mine.detach().numpy(), w.grad.numpy(), rtol=1e-4, atol=1e-5)
