"""Pools over volumes and adaptive pools: kernels of the CPU against loops over the windows, and against what keeps a history."""

import itertools
import math

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


def spans_of_windows(size, k, s, p, d, ceil_mode):
    room = size + 2 * p - d * (k - 1) - 1
    many = (-(-room // s) if ceil_mode else room // s) + 1
    many -= ceil_mode and (many - 1) * s >= size + p
    return [[i * s - p + j * d for j in range(k)] for i in range(many)]


def boxes(x, spans):
    """For every window the values of its places inside, and how many it has with padding."""
    for places in itertools.product(*spans):
        inside = [[i for i in at if 0 <= i < n] for at, n in zip(places, x.shape, strict=True)]
        yield [x[i].item() for i in itertools.product(*inside)], list(itertools.product(*inside))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("k", "s", "p", "d"), [((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1)), ((3, 2, 3), (1, 2, 2), (1, 1, 0), (2, 1, 1))]
)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_windows_of_volumes(dtype, k, s, p, d, ceil_mode):
    x = torch.randn(2, 5, 6, 5, dtype=dtype)
    x[0, 1, 2, 3] = math.nan
    values, places = F.max_pool3d(x, k, s, p, d, ceil_mode, return_indices=True)
    assert torch.equal(F.max_pool3d(x, k, s, p, d, ceil_mode).nan_to_num(7), values.nan_to_num(7))
    means = F.avg_pool3d(x, k, s, p, ceil_mode, count_include_pad=False) if d == (1, 1, 1) else None
    for plane in range(2):
        spans = [spans_of_windows(n, *(c[i] for c in (k, s, p, d)), ceil_mode) for i, n in enumerate(x.shape[1:])]
        for at, (inside, where) in enumerate(boxes(x[plane], spans)):
            best, place = values[plane].reshape(-1)[at].item(), where[0]
            place = divmod(places[plane].reshape(-1)[at].item(), 30)
            assert x[plane, place[0], place[1] // 5, place[1] % 5].item() == pytest.approx(best, nan_ok=True)
            assert best == pytest.approx(math.nan if any(map(math.isnan, inside)) else max(inside), nan_ok=True)
            if means is not None:
                assert means[plane].reshape(-1)[at].item() == pytest.approx(
                    sum(inside) / len(inside), rel=1e-4, abs=1e-5, nan_ok=True
                )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_adaptive_pools(n, dtype):
    x = torch.randn(2, 3, *(5, 7, 4)[:n]).to(dtype)
    for size in ((1, 1, 1), (2, 3, 4), (5, 7, 4), (7, 9, 5)):
        out = size[:n] if n > 1 else size[0]
        pool, maxima = getattr(F, f"adaptive_avg_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")
        means, (best, places) = pool(x, out), maxima(x, out, return_indices=True)
        parts = [
            [list(range(i * s // o, -(-(i + 1) * s // o))) for i in range(o)]
            for s, o in zip(x.shape[2:], size, strict=False)
        ]
        for b, c in itertools.product(range(2), range(3)):
            for at, (inside, _) in enumerate(boxes(x[b, c].float(), parts)):
                assert means[b, c].reshape(-1)[at].item() == pytest.approx(
                    sum(inside) / len(inside), rel=1e-2, abs=1e-2
                )
                assert best[b, c].reshape(-1)[at].item() == pytest.approx(max(inside))
                assert x[b, c].reshape(-1)[places[b, c].reshape(-1)[at]] == best[b, c].reshape(-1)[at]
        kept = x.clone().requires_grad_()
        torch.testing.assert_close(pool(kept, out).detach(), means)
        assert torch.equal(maxima(kept, out).detach(), best)


def test_gradients_go_back_to_the_places():
    x = torch.randn(2, 4, 4, 4, dtype=torch.float64, requires_grad=True)
    for f in (
        lambda t: F.max_pool3d(t, 2),
        lambda t: F.adaptive_max_pool3d(t, 3),
        lambda t: F.avg_pool3d(t, 2),
        lambda t: F.adaptive_avg_pool3d(t, 3),
    ):
        assert torch.autograd.gradcheck(f, (x,))


def test_refusals_stay():
    x = torch.ones(1, 4, 4, 4)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool3d(x, 2, divisor_override=0)
    with pytest.raises(NotImplementedError, match="avg_pool3d_out_frame"):
        F.avg_pool3d(x.bfloat16(), 2)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool3d(x, 2, padding=2)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool3d(x, 5)


LAST = torch.channels_last


LAYERS = {
    "conv": lambda: nn.Conv2d(4, 3, 3), "conv_transpose": lambda: nn.ConvTranspose2d(4, 3, 3), "batch": lambda: nn.BatchNorm2d(4),
    "group": lambda: nn.GroupNorm(2, 4), "max": lambda: nn.MaxPool2d(2), "avg": lambda: nn.AvgPool2d(2),
    "adaptive_avg": lambda: nn.AdaptiveAvgPool2d(3), "adaptive_max": lambda: nn.AdaptiveMaxPool2d(3),
    "shuffle": lambda: nn.ChannelShuffle(2), "reflect": lambda: nn.ReflectionPad2d(1), "zeros": lambda: nn.ZeroPad2d(1),
    "lp": lambda: nn.LPPool2d(2, 2), "up": lambda: nn.Upsample(scale_factor=2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_channels_last_is_kept_forward_and_backward(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    plain = torch.randn(2, 4, 8, 8, requires_grad=True)
    last = plain.detach().contiguous(memory_format=LAST).requires_grad_()
    y, z = layer(plain), layer(last)
    assert y.is_contiguous() and z.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(y, z)
    weight = torch.randn(y.shape)
    (y * weight).sum().backward()
    (z * weight).sum().backward()
    assert last.grad.is_contiguous(memory_format=LAST)
    torch.testing.assert_close(plain.grad, last.grad)


def test_a_weight_in_channels_last_decides_too():
    conv = nn.Conv2d(3, 4, 3).to(memory_format=LAST)
    assert conv(torch.randn(1, 3, 5, 5)).is_contiguous(memory_format=LAST)
    five = torch.randn(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert nn.MaxPool3d(2)(five).is_contiguous(memory_format=torch.channels_last_3d)


def test_empty_batches():
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        x = torch.ones(0, 4, 6, 6, requires_grad=True)
        y = pool(x, 3)
        y.sum().backward()
        assert y.shape == (0, 4, 3, 3) and x.grad.shape == x.shape
    assert F.fractional_max_pool2d(torch.ones(0, 4, 6, 6), 2, 3).shape == (0, 4, 3, 3)


@pytest.mark.parametrize(
    "name", ["adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool1d", "adaptive_max_pool3d"]
)
def test_outputs_of_nothing_have_no_backward(name):
    n = int(name[-2])
    x = torch.randn(1, 2, *[4] * n, requires_grad=True)
    y = getattr(F, name)(x, 0)
    assert y.shape == (1, 2, *[0] * n)
    with pytest.raises(RuntimeError, match="Expected grad_output to have non-zero size for non-batch dimensions"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: F.fractional_max_pool2d(torch.ones(2, 7, 7), (1,), output_size=3), "fractional_max_pool2d: kernel_size must either be a single Int or tuple of Ints"),
        (lambda: F.fractional_max_pool3d(torch.ones(2, 7, 7, 7), 2, output_size=(1,)), "fractional_max_pool3d: output_size must either be a single Int or tuple of three Ints"),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 2, 7, 7), 2, 1, _random_samples=torch.rand(1, 2, 2)), "Expect _random_samples.size(0) no less then input batch size."),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 2, 7, 7), 2, 1, _random_samples=torch.rand(2, 2)), "Expect _random_samples to have 3 dimensions, got 2"),
        (lambda: F.fractional_max_pool2d(torch.ones(2, 0, 7, 7), 2, 1), "fractional_max_pool2d(): Expected input to have non-zero size for non-batch dimensions, but got[2, 0, 7, 7] with dimension 1 being empty."),
        (lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 1, 1), (2**61, 4)), "Storage size calculation overflowed with sizes=[1, 1, 2305843009213693952, 4]"),
        (lambda: torch._C._nn.max_unpool3d(torch.ones(1, 3, 3, 3, 3), torch.zeros(1, 3, 3, 3, 3, dtype=torch.int64), [4, 4, 4], [1, 1, 1], [0, 0]), "There should be exactly three elements (depth, height, width) in padding, but got: 2 elements."),
        (lambda: torch._C._nn.max_unpool3d(torch.ones(3, 3), torch.zeros(3, 3, dtype=torch.int64), [4, 4, 4], [1, 1, 1], [0, 0, 0]), "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with 2 dimensions."),
        (lambda: F.max_unpool2d(torch.ones(1, 3, 3, 3), torch.full((1, 3, 3, 3), 100), 2), "Found an invalid max index: 100 (output volumes are of size 6x6)"),
        (lambda: F.dropout1d(torch.ones(2)), "dropout1d: Expected 2D or 3D input, but received a 1D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."),
    ],
)  # fmt: skip
def test_refused(run, text):
    with pytest.raises(RuntimeError) as caught:
        run()
    assert str(caught.value) == text


check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


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


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_maxima_of_wide_rows(dtype, stride):
    x = torch.randn(3, 9, 41, dtype=dtype)
    x[0, 4, 20] = float("nan")
    x[1] = -float("inf")
    x[2] = x[2].round()  # of equals the first wins
    out, indices = torch.nn.functional.max_pool2d(x, 3, stride, 1, return_indices=True)
    padded = torch.full((3, 11, 43), -float("inf"), dtype=dtype)
    padded[:, 1:-1, 1:-1] = x
    windows = padded.unfold(1, 3, stride).unfold(2, 3, stride).flatten(3)
    assert torch.testing.assert_close(out, windows.amax(-1), equal_nan=True) is None
    assert torch.equal(x.flatten(1).gather(1, indices.flatten(1)).nan_to_num(), out.flatten(1).nan_to_num())
    ahead = torch.arange(9 * 41, dtype=torch.int64).view(9, 41)
    marks = torch.full((11, 43), 9 * 41, dtype=torch.int64)
    marks[1:-1, 1:-1] = ahead
    places = marks.unfold(0, 3, stride).unfold(1, 3, stride).flatten(2)
    equal = windows == out[..., None]
    first = torch.where(equal, places, 9 * 41).amin(-1)
    assert torch.equal(first[1:], indices[1:])
