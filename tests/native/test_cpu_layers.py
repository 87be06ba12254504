"""Layers that are one CPU kernel: values against their definitions, first and second gradients, sixteen-bit floats, threads."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


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


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_max_pool(ceil_mode):
    x = torch.tensor(
        [[1.0, 5.0, 2.0, 5.0, 0.0], [math.nan, 1.0, 9.0, -1.0, -2.0], [3.0, 3.0, 3.0, -math.inf, -math.inf]]
    )
    y, at = F.max_pool2d(x[None], 2, 2, ceil_mode=ceil_mode, return_indices=True)
    assert at[0, 0, 1] == 7 and y[0, 0, 1] == 9 and at[0, 0, 0] == 5 and math.isnan(y[0, 0, 0])
    assert y.shape == ((1, 2, 3) if ceil_mode else (1, 1, 2))
    lines, places = F.max_pool1d(x, 2, return_indices=True)
    assert lines[2].tolist() == [3.0, 3.0] and places[2].tolist() == [0, 2]
    assert check(lambda t: F.max_pool2d(t, 3, 2, 1, ceil_mode=ceil_mode), (leaf(2, 2, 6, 7),), fast_mode=True)


@pytest.mark.parametrize("settings", [(2, 2, 0), (3, 2, 1), ((3, 2), (2, 1), (1, 0)), (3, 1, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("more", [{}, {"count_include_pad": False}, {"divisor_override": 5}])
def test_avg_pool(settings, ceil_mode, more):
    x = leaf(2, 3, 6, 7)
    call = lambda t: F.avg_pool2d(t, *settings, ceil_mode=ceil_mode, **more)
    with torch.no_grad():
        got = call(x)
    steps = call(x.detach().clone(memory_format=torch.channels_last))  # by tensor operations
    np.testing.assert_allclose(got.numpy(), steps.numpy(), rtol=1e-12)
    assert check(call, (x,), fast_mode=True) and check_twice(call, (x,), fast_mode=True)


def test_adaptive_means():
    x = leaf(2, 3, 6, 8)
    for size in (1, 2, (3, 4), (4, 3)):
        np.testing.assert_allclose(
            F.adaptive_avg_pool2d(x, size).detach().numpy(),
            F.adaptive_avg_pool2d(x.detach().clone(memory_format=torch.channels_last), size).numpy(), rtol=1e-12)  # fmt: skip
        assert check(lambda t, s=size: F.adaptive_avg_pool2d(t, s), (x,), fast_mode=True)


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


def test_eval_statistics_may_move_after_the_forward():
    bn, x = torch.nn.BatchNorm1d(3).eval(), torch.randn(5, 3, requires_grad=True)
    y = bn(x)
    bn.running_mean.add_(1.0)
    assert bn.running_mean.grad_fn is None
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full((5, 3), 1 / math.sqrt(1 + 1e-5)), rtol=1e-6)


@pytest.mark.parametrize("affine", [0, 1, 2])
def test_row_norms(affine):
    x, w, b = leaf(5, 3, 4), leaf(3, 4), leaf(3, 4)
    given = (w, b)[:affine]
    for call in (lambda x, *p: F.layer_norm(x, (3, 4), *p), lambda x, *p: F.rms_norm(x, (3, 4), *p[:1])):
        assert check(call, (x, *given), fast_mode=True) and check_twice(call, (x, *given), fast_mode=True)
    c, d = leaf(6), leaf(6)
    image = leaf(2, 6, 3, 2)
    call = lambda x, *p: F.group_norm(x, 3, *p)
    assert check(call, (image, *(c, d)[:affine]), fast_mode=True) and check_twice(
        call, (image, *(c, d)[:affine]), fast_mode=True
    )
    a = image.detach().numpy().reshape(2, 3, -1)
    want = ((a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)).reshape(image.shape)
    np.testing.assert_allclose(F.group_norm(image, 3).detach().numpy(), want, rtol=1e-9, atol=1e-12)


def test_row_norms_of_half_and_of_many_rows():
    x = torch.randn(300, 64)
    wide = x.double().numpy()
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(x, (64,)).numpy(), want, rtol=1e-5, atol=1e-6)
    assert F.layer_norm(x.bfloat16(), (64,)).dtype == torch.bfloat16
    w = torch.randn(64, requires_grad=True)
    grads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        grads.append(torch.autograd.grad(F.layer_norm(x, (64,), w).square().sum(), w)[0])
    assert torch.equal(*grads)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy(reduction):
    x, target, weight = leaf(6, 5), torch.tensor([0, 4, 2, 1, 1, 3]), torch.rand(5, dtype=torch.float64) + 0.1
    for more in ({}, {"ignore_index": 1}, {"weight": weight}, {"weight": weight, "ignore_index": 4}):
        call = lambda x, more=more: F.cross_entropy(x, target, reduction=reduction, **more)
        steps = F.nll_loss(x.log_softmax(1), target, reduction=reduction, **more)
        np.testing.assert_allclose(call(x).detach().numpy(), steps.detach().numpy(), rtol=1e-12)
        assert check(call, (x,), fast_mode=True) and check_twice(call, (x,), fast_mode=True)
    image = leaf(2, 3, 4, 5)
    places = torch.randint(0, 3, (2, 4, 5))
    np.testing.assert_allclose(F.cross_entropy(image, places, reduction=reduction).detach().numpy(),
                               F.nll_loss(image.log_softmax(1), places, reduction=reduction).detach().numpy(), rtol=1e-12)  # fmt: skip


def test_cross_entropy_bounds_and_nothing_left():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        F.cross_entropy(torch.randn(2, 5), torch.tensor([0, 5]))
    assert math.isnan(F.cross_entropy(torch.randn(2, 5), torch.tensor([-100, -100])))


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_gradients(dim):
    x = leaf(4, 40)
    for call in (torch.softmax, torch.log_softmax):
        assert check(lambda t, c=call: c(t, dim), (x,), fast_mode=True) and check_twice(
            lambda t, c=call: c(t, dim), (x,), fast_mode=True
        )


def test_dropout_keeps_and_scales():
    torch.manual_seed(3)
    x = torch.ones(100000, requires_grad=True)
    y = F.dropout(x, 0.25)
    kept = y.detach() != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.01 and set(y[kept].tolist()) == {torch.tensor(1 / 0.75).item()}
    torch.manual_seed(3)
    assert torch.equal(kept, torch.rand(100000, dtype=torch.float64) < 0.75)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    torch.manual_seed(3)
    assert torch.equal(F.dropout(torch.ones(100000, dtype=torch.float64), 0.25) != 0, kept)


def test_triangles_flips_and_rolls():
    x = torch.arange(60).reshape(3, 4, 5)
    for k in (-9, -2, 0, 1, 4, 9):
        assert np.array_equal(x.tril(k).numpy(), np.tril(x.numpy(), k)) and np.array_equal(
            x.triu(k).numpy(), np.triu(x.numpy(), k)
        )
    for dtype in (torch.bool, torch.int16, torch.float32, torch.int64):
        y = x.to(dtype)
        assert np.array_equal(y.flip(0, -1).numpy(), y.numpy()[::-1, :, ::-1])
        assert np.array_equal(y.mT.flip(1).numpy(), y.numpy().swapaxes(1, 2)[:, ::-1])
        assert np.array_equal(y.roll((1, -7), (0, 2)).numpy(), np.roll(y.numpy(), (1, -7), (0, 2)))
        assert np.array_equal(y.roll(13).numpy(), np.roll(y.numpy(), 13))


def test_draws_fill_tensors_and_count_as_writes():
    for make in (
        lambda: torch.rand(7),
        lambda: torch.randn(7),
        lambda: torch.randint(0, 1000, (7,)),
        lambda: torch.rand(7, dtype=torch.float64),
    ):
        torch.manual_seed(5)
        first = make()
        torch.manual_seed(5)
        assert torch.equal(first, make())
    x = torch.zeros(4)
    version = x._version
    x.uniform_(2, 3)
    assert x._version == version + 1 and bool(((x >= 2) & (x < 3)).all())


def test_freed_blocks_are_not_shared():
    held = [torch.full((100000,), float(i)) for i in range(5)]
    for i in range(50):
        held[i % 5] = torch.full((100000 + i,), float(i))
    assert all(t.min() == t.max() for t in held)
