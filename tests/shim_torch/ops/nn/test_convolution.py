"""Convolutions against sums of strided slices, tap by tap: values and gradients."""

import itertools
import math

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

FORWARD = (F.conv1d, F.conv2d, F.conv3d)
TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


def each(value, dims):
    return [value] * dims if isinstance(value, int) else list(value)


def by_taps(x, w, groups, stride=1, padding=0, dilation=1):
    """The convolution as a sum over the kernel's taps, each of a slice of the padded image."""
    dims = x.dim() - 2
    stride, padding, dilation = each(stride, dims), each(padding, dims), each(dilation, dims)
    padded = F.pad(x, [side for p in reversed(padding) for side in (p, p)])
    counts = [(padded.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(dims)]
    total = 0
    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        part = padded
        for i, k in enumerate(tap):
            part = part.narrow(2 + i, k * dilation[i], (counts[i] - 1) * stride[i] + 1)[
                (slice(None),) * (2 + i) + (slice(None, None, stride[i]),)
            ]
        part = part.unflatten(1, (groups, -1)).flatten(3)
        weights = w[(..., *tap)].unflatten(0, (groups, -1))
        total = total + torch.einsum("bgcp,goc->bgop", part, weights).flatten(1, 2).unflatten(2, counts)
    return total


def transposed_by_taps(x, w, groups, output_padding=0, **settings):
    """The gradient of the convolution that has these weights."""
    dims = x.dim() - 2
    stride, padding, dilation, extra = (
        each(v, dims)
        for v in (settings.get("stride", 1), settings.get("padding", 0), settings.get("dilation", 1), output_padding)
    )
    sizes = [
        (x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w.shape[2 + i] - 1) + extra[i] + 1
        for i in range(dims)
    ]
    z = torch.zeros(x.shape[0], w.shape[1] * groups, *sizes, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(by_taps(z, w, groups, **settings), z, x, create_graph=True)[0]


def compared(shape, weight, groups, transposed, dtype=torch.float32, change=None, **settings):
    x, w = torch.randn(shape, dtype=dtype), torch.randn(weight, dtype=dtype)
    if change:
        change(x)
    leaves = [x.requires_grad_(), w.requires_grad_()]
    twins = [t.detach().double().requires_grad_() for t in leaves]
    convolve = (TRANSPOSED if transposed else FORWARD)[x.dim() - 3]
    found, wanted = (
        convolve(*leaves, groups=groups, **settings),
        (transposed_by_taps if transposed else by_taps)(*twins, groups, **settings),
    )
    slope = torch.randn_like(found)
    found.backward(slope)
    wanted.backward(slope.double())
    pairs = [(found.detach(), wanted.detach()), *((a.grad, b.grad) for a, b in zip(leaves, twins, strict=True))]
    for a, b in pairs:
        # sums of hundreds of float32 products in another order
        torch.testing.assert_close(
            a.double(), b, **({"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}), equal_nan=True
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("outs", [1, 4, 8, 11, 13])
@pytest.mark.parametrize(
    "settings",
    [
        {"padding": 1},
        {"stride": 2, "padding": 1},
        {"dilation": 2},
        {"stride": (3, 2), "padding": (0, 2), "dilation": (2, 1)},
    ],
)
def test_images(dtype, outs, settings):
    compared((3, 5, 19, 23), (outs, 5, 3, 3), 1, False, dtype, **settings)
    compared((3, 5, 9, 11), (5, outs, 3, 3), 1, True, dtype, **settings)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 3])
def test_lines_and_volumes(transposed, groups):
    for stride in (1, 2, 3):
        compared(
            (4, 2 * groups, 130),
            ((2 * groups, 6, 4) if transposed else (6 * groups, 2, 4)),
            groups,
            transposed,
            stride=stride,
            padding=2,
        )
    for stride in (1, (1, 2, 1)):
        shape = (2 * groups, 5, 3, 2, 3) if transposed else (5 * groups, 2, 3, 2, 3)
        compared((2, 2 * groups, 6, 7, 8), shape, groups, transposed, stride=stride, padding=1)


def test_remainders_without_taps():
    """A kernel smaller than the stride leaves results that no window reaches."""
    compared((3, 8, 8, 20), (8, 9, 2, 1), 1, True, stride=(1, 2), padding=(1, 0))
    compared((2, 8, 20, 33), (12, 8, 2, 1), 1, False, stride=(3, 2), padding=(1, 0))
    compared((2, 4, 9, 9), (4, 6, 2, 2), 1, True, stride=3, output_padding=2)


def test_one_channel_and_a_bias():
    compared((20, 1, 28, 28), (6, 1, 5, 5), 1, False, padding=2)
    for stride in (1, 2):
        compared((2, 8, 28, 28), (8, 1, 3, 3), 8, False, stride=stride, padding=1)
        compared((2, 8, 14, 14), (8, 1, 4, 4), 8, True, stride=stride, padding=1)
    x, w, b = torch.randn(2, 3, 10, 10), torch.randn(9, 3, 3, 3), torch.randn(9)
    torch.testing.assert_close(F.conv2d(x, w, b), F.conv2d(x, w) + b.view(-1, 1, 1))
    w = torch.randn(3, 9, 3, 3)
    torch.testing.assert_close(
        F.conv_transpose2d(x, w, b, stride=2), F.conv_transpose2d(x, w, stride=2) + b.view(-1, 1, 1)
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_stays_with_its_windows(value):
    def change(x):
        x[0, 1, 0, 0] = x[1, 2, -1, -1] = value

    compared((2, 4, 24, 24), (8, 4, 3, 3), 1, False, change=change, padding=1)
    compared((2, 4, 24, 24), (8, 4, 3, 3), 1, False, change=change, stride=2)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_give_the_same(threads):
    x, w, before = torch.randn(3, 6, 40, 40), torch.randn(16, 6, 3, 3), torch.get_num_threads()
    wanted = F.conv2d(x, w, padding=1)
    torch.set_num_threads(threads)
    try:
        assert torch.equal(F.conv2d(x, w, padding=1), wanted)
    finally:
        torch.set_num_threads(before)


check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


DEPTHWISE = [  # image, kernel, settings; 37 channels are no whole number of vectors
    ((3, 37, 7, 7), (7, 7), {"padding": 3}),
    ((2, 16, 14, 17), (7, 7), {"padding": 3}),
    ((2, 8, 9, 20), (3, 3), {"stride": 2, "padding": 1}),
    ((2, 20, 9, 11), (5, 5), {"stride": (2, 3), "padding": (0, 2)}),
    ((1, 33, 12, 13), (3, 2), {"padding": (2, 1), "dilation": (3, 2)}),
    ((2, 16, 1, 30), (1, 3), {"stride": (1, 2)}),
    ((1, 16, 90, 130), (3, 3), {"padding": 1}),  # more than one band of rows
]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape,kernel,settings", DEPTHWISE)
def test_one_kernel_a_channel(shape, kernel, settings, dtype, transposed):
    compared(shape, (shape[1], 1, *kernel), shape[1], transposed, dtype, **settings)


def test_depthwise_with_bias_keeps_what_no_window_reads_apart():
    x = torch.zeros(2, 16, 8, 8)
    x[:, :, 7, 7] = float("nan")  # the last line and column are past the last window
    out = F.conv2d(x, torch.ones(16, 1, 3, 3), torch.arange(16.0), stride=2, groups=16)
    assert out.equal(torch.arange(16.0).view(16, 1, 1).expand(2, 16, 3, 3))


@pytest.mark.parametrize("size,kernel", [((2, 2), 3), ((4, 5), 3), ((3, 3), 1)])
def test_images_of_few_places(size, kernel):
    compared((5, 6, *size), (130, 6, kernel, kernel), 1, False, padding=kernel // 2)


def convolved(x, w, b, stride, padding, dilation, groups):
    """The definition, by loops."""
    x, w = x.detach().double().numpy(), w.detach().double().numpy()
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    (n, _c, h, v), (o, per, kh, kw) = x.shape, w.shape
    rows, cols = ((s - dilation * (k - 1) - 1) // stride + 1 for s, k in ((h, kh), (v, kw)))
    y = np.zeros((n, o, rows, cols))
    for i in range(o):
        g = i // (o // groups)
        for r in range(rows):
            for s in range(cols):
                a, e = r * stride, s * stride
                part = x[
                    :,
                    g * per : (g + 1) * per,
                    a : a + dilation * (kh - 1) + 1 : dilation,
                    e : e + dilation * (kw - 1) + 1 : dilation,
                ]
                y[:, i, r, s] = (part * w[i]).sum((1, 2, 3)) + (0 if b is None else float(b[i]))
    return y


SETTINGS = [
    (1, 0, 1, 1),
    (1, 2, 1, 1),
    (2, 1, 1, 1),
    (1, 1, 2, 1),
    (3, 2, 2, 1),
    (1, 1, 1, 2),
    (2, 1, 1, 4),
    (1, 1, 2, 4),
]


@pytest.mark.parametrize("stride,padding,dilation,groups", SETTINGS)
def test_convolution(stride, padding, dilation, groups):
    x, w, b = leaf(2, 4, 9, 8), leaf(8, 4 // groups, 3, 2), leaf(8)
    want = convolved(x, w, b, stride, padding, dilation, groups)
    call = lambda x, w, b: F.conv2d(x, w, b, stride, padding, dilation, groups)
    np.testing.assert_allclose(call(x, w, b).detach().numpy(), want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(call(x.float(), w.float(), b.float()).detach().numpy(), want, rtol=1e-4, atol=1e-5)
    assert check(call, (x, w, b), fast_mode=True) and check_twice(call, (x, w, b), fast_mode=True)


@pytest.mark.parametrize("stride,padding,dilation,groups", SETTINGS)
def test_transposed_convolution(stride, padding, dilation, groups):
    x, w = leaf(2, 4, 4, 5), leaf(4, 8 // groups, 3, 2)
    call = lambda x, w: F.conv_transpose2d(x, w, None, stride, padding, 0, groups, dilation)
    y = call(x, w)
    g = torch.randn_like(y)
    # What it is: the gradient of the convolution from its result's sizes to its input's.
    image = leaf(*y.shape)
    (want,) = torch.autograd.grad(
        F.conv2d(image, w.detach(), None, stride, padding, dilation, groups), image, x.detach()
    )
    np.testing.assert_allclose(y.detach().numpy(), want.numpy(), rtol=1e-10, atol=1e-12)
    assert g.shape == want.shape and check(call, (x, w), fast_mode=True) and check_twice(call, (x, w), fast_mode=True)


def test_convolution_gives_the_same_in_any_number_of_threads():
    x, w = torch.randn(5, 8, 20, 20, requires_grad=True), torch.randn(16, 8, 3, 3, requires_grad=True)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        y = F.conv2d(x, w, padding=1)
        found.append((y, *torch.autograd.grad(y.square().sum(), (x, w))))
    torch.set_num_threads(2)
    for again in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], again, strict=True))
