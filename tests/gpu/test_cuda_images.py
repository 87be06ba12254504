"""Convolutions, pools, resampling and norms over channels on CUDA against the CPU's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn import functional

CLOSE = {torch.float64: 1e-10, torch.float32: 2e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}


@pytest.fixture(autouse=True)
def exact_products():
    """float32 is computed as such."""
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = True


def same(run, *given, dtype=torch.float32, grads=True, strides=True):
    """``run`` on CUDA and on the CPU in the next wider dtype: values, gradients of the floats given, strides."""
    leaves = [t.to(dtype) if t.is_floating_point() else t for t in given]
    sides = []
    for device, wide in (("cuda", dtype), ("cpu", torch.float64)):
        own = [t.to(device, wide if t.is_floating_point() else t.dtype) for t in leaves]
        for t in own:
            if grads and t.is_floating_point():
                t.requires_grad_()
        out = run(*own)
        outs = out if isinstance(out, tuple) else (out,)
        found = [o.detach() for o in outs]
        if grads:
            weigh = (
                torch.linspace(-1, 1, outs[0].numel(), dtype=torch.float64).reshape(outs[0].shape)
                / outs[0].numel() ** 0.5
            )
            total = (outs[0] * weigh.to(device, outs[0].dtype)).sum()
            found += torch.autograd.grad(total, [t for t in own if t.requires_grad])
        sides.append(found)
    for mine, theirs in zip(*sides, strict=True):
        assert mine.shape == theirs.shape
        assert mine.is_cuda
        if not mine.is_floating_point():
            assert torch.equal(mine.cpu(), theirs)
            continue
        bound = CLOSE[dtype] * max(1.0, float(theirs.abs().max()))
        assert float((mine.cpu().double() - theirs).abs().max()) <= bound
    if strides:
        plain = run(*[t.to("cpu") for t in leaves])
        assert (plain[0] if isinstance(plain, tuple) else plain).stride() == sides[0][0].stride()


CONVOLUTIONS = [
    ((2, 6, 9, 8), (4, 6, 3, 3), {"padding": 1}),
    ((2, 6, 9, 8), (4, 3, 3, 2), {"stride": 2, "groups": 2}),
    ((1, 6, 9, 9), (6, 1, 3, 3), {"padding": 2, "dilation": 2, "groups": 6}),
    ((2, 6, 1, 7), (4, 6, 1, 1), {}),
    ((2, 6, 20), (4, 6, 3), {"padding": 1}),
    ((2, 6, 20), (6, 1, 4), {"padding": 3, "groups": 6}),
    ((2, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"padding": 1, "stride": (1, 2, 1)}),
]


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize(("x", "w", "how"), CONVOLUTIONS, ids=str)
def test_convolutions(x, w, how, dtype):
    run = getattr(functional, f"conv{len(x) - 2}d")
    same(lambda a, b, c: run(a, b, c, **how), torch.randn(x), torch.randn(w), torch.randn(w[0]), dtype=dtype)


@pytest.mark.parametrize("x, w, how", [
    ((2, 6, 5, 4), (6, 4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((2, 6, 9), (6, 2, 3), {"stride": 3, "groups": 2}),
    ((1, 4, 3, 4, 5), (4, 2, 2, 2, 2), {"stride": 2}),
], ids=str)  # fmt: skip
def test_transposed_convolutions(x, w, how):
    run = getattr(functional, f"conv_transpose{len(x) - 2}d")
    same(lambda a, b: run(a, b, **how), torch.randn(x), torch.randn(w))


def test_convolutions_keep_channels_last():
    x, w = torch.randn(2, 8, 9, 8).to(memory_format=torch.channels_last), torch.randn(4, 8, 3, 3)
    same(lambda a, b: functional.conv2d(a, b, padding=1), x, w)
    y = functional.conv2d(x.cuda(), w.cuda())
    assert y.is_contiguous(memory_format=torch.channels_last)


def test_second_gradients_of_a_convolution():
    x, w = (
        torch.randn(1, 2, 5, 5, dtype=torch.float64, device="cuda"),
        torch.randn(3, 2, 3, 3, dtype=torch.float64, device="cuda"),
    )
    x.requires_grad_(), w.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda a, b: functional.conv2d(a, b, stride=2, padding=1), (x, w))


POOLS = [
    (functional.max_pool2d, (2, 3, 9, 8), (3, 2, 1)),
    (functional.max_pool2d, (3, 9, 8), (2, 2, 0, 2, True)),
    (functional.max_pool1d, (2, 3, 20), (3, 2, 1)),
    (functional.max_pool3d, (2, 3, 6, 7, 8), (2, 2, 1)),
    (functional.avg_pool2d, (2, 3, 9, 8), (3, 2, 1)),
    (functional.avg_pool2d, (2, 3, 9, 8), (3, 2, 1, True, False)),
    (functional.avg_pool2d, (2, 3, 9, 8), ((2, 3), (2, 1), 0, False, True, 5)),
    (functional.avg_pool1d, (2, 3, 20), (3, 2, 1)),
    (functional.avg_pool3d, (2, 3, 6, 7, 8), (2,)),
    (functional.adaptive_avg_pool2d, (2, 3, 9, 8), ((4, 3),)),
    (functional.adaptive_avg_pool2d, (2, 3, 8, 8), (4,)),
    (functional.adaptive_avg_pool3d, (2, 3, 6, 7, 8), (3,)),
    (functional.adaptive_avg_pool1d, (2, 3, 20), (7,)),
    (functional.adaptive_max_pool2d, (2, 3, 9, 8), ((4, 3),)),
    (functional.adaptive_max_pool1d, (2, 3, 20), (7,)),
    (functional.adaptive_max_pool3d, (2, 3, 6, 7, 8), (3,)),
]


@pytest.mark.parametrize("grads", (True, False))
@pytest.mark.parametrize(("pool", "shape", "how"), POOLS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_pools(pool, shape, how, grads):
    same(lambda a: pool(a, *how), torch.randn(shape), grads=grads)
    if len(shape) == 4:
        same(lambda a: pool(a, *how), torch.randn(shape).to(memory_format=torch.channels_last), grads=grads)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_maxima_and_their_places(dtype):
    x = torch.randn(2, 3, 12, 12).round()  # with equal ones
    x[0, 0, 3, 3], x[0, 1] = float("nan"), float("-inf")
    for call in (functional.max_pool2d_with_indices, functional.adaptive_max_pool2d_with_indices):
        mine, theirs = (call(x.to(device, dtype), 4) for device in ("cuda", "cpu"))
        assert torch.equal(mine[1].cpu(), theirs[1])
        assert torch.equal(mine[0].cpu().nan_to_num(9), theirs[0].nan_to_num(9))


@pytest.mark.parametrize("grads", (True, False))
@pytest.mark.parametrize("shape, how", [
    ((2, 3, 7), {"scale_factor": 2.0}), ((2, 3, 7, 5), {"scale_factor": 1.7}), ((2, 3, 7, 5), {"size": (3, 9)}), ((2, 2, 4, 5, 6), {"size": (7, 3, 9)}),
], ids=str)  # fmt: skip
def test_other_sizes(shape, how, grads):
    x = torch.randn(shape)
    linear = ("linear", "bilinear", "trilinear")[len(shape) - 3]
    for mode in ("nearest", "nearest-exact"):
        same(lambda a, m=mode: functional.interpolate(a, mode=m, **how), x, grads=grads)
    for aligned in (False, True):
        for mode in (linear, "bicubic") if len(shape) == 4 else (linear,):
            same(lambda a, m=mode, c=aligned: functional.interpolate(a, mode=m, align_corners=c, **how), x, grads=grads)


@pytest.mark.parametrize("padding", ("zeros", "border", "reflection"))
@pytest.mark.parametrize("mode", ("bilinear", "nearest"))
@pytest.mark.parametrize("grads", (True, False))
def test_places_of_a_grid(mode, padding, grads):
    x, grid = torch.randn(2, 3, 6, 7), torch.rand(2, 4, 5, 2) * 3 - 1.5
    for aligned in (False, True):
        same(lambda a, g, c=aligned: functional.grid_sample(a, g, mode, padding, c), x, grid, grads=grads)
        same(lambda a, g, c=aligned: functional.grid_sample(a, g, mode, padding, c), x[..., :1], grid, grads=grads)


@pytest.mark.parametrize("padding", ("zeros", "border", "reflection"))
@pytest.mark.parametrize("mode", ("bilinear", "nearest"))
def test_places_far_outside(mode, padding):
    x, grid = torch.randn(2, 3, 6, 7), torch.rand(2, 4, 5, 2) * 30 - 15
    for aligned in (False, True):
        for image in (x, x[..., :1, :]):
            same(
                lambda a, g, c=aligned: functional.grid_sample(a, g, mode, padding, c), image, grid, dtype=torch.float64
            )


def test_gradients_of_a_grid_or_of_its_input_alone():
    x, grid = torch.randn(2, 3, 6, 7, dtype=torch.float64), torch.rand(2, 4, 5, 2, dtype=torch.float64) * 3 - 1.5
    found = []
    for device in ("cpu", "cuda"):
        image, places = (t.detach().to(device).requires_grad_() for t in (x, grid))
        one = torch.autograd.grad(
            functional.grid_sample(image, places.detach(), align_corners=False).square().sum(), image
        )
        both = torch.autograd.grad(
            functional.grid_sample(image, places, align_corners=False).square().sum(), (image, places)
        )
        found.append([t.cpu() for t in (*one, *both)])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("shape", ((16, 5), (2, 6, 7), (3, 4, 8, 8), (2, 3, 2, 5, 6), (2, 2, 200, 200)), ids=str)
@pytest.mark.parametrize("training", (True, False))
def test_batch_norm(shape, dtype, training):
    x, channels = torch.randn(shape) * 3 + 5, shape[1]
    w, b = torch.rand(channels) + 0.5, torch.randn(channels)
    mean, var = torch.randn(channels), torch.rand(channels) + 0.5
    moved = []

    def run(a, w, b):
        kept = [t.to(a.device, a.dtype) for t in (mean, var)]
        y = functional.batch_norm(a, *kept, w, b, training)
        moved.append([t.detach().cpu().double() for t in kept])
        return y

    same(run, x, w, b, dtype=dtype)
    for mine, theirs in zip(moved[0], moved[1], strict=True):
        assert float((mine - theirs).abs().max()) <= CLOSE[dtype] * 10


def test_batch_norm_of_a_mean_far_from_zero():
    x = torch.randn(4, 3, 64, 64, dtype=torch.float64) + 1000
    x[0, 0, 0, 0] = 0
    y = functional.batch_norm(x.float().cuda(), None, None, training=True)
    assert float((y.cpu().double() - functional.batch_norm(x, None, None, training=True)).abs().max()) < 2e-3


def test_instance_norm():
    same(lambda a: functional.instance_norm(a), torch.randn(2, 3, 9, 9))


@pytest.mark.parametrize("shape", ((1 << 20,), (3, 1 << 18)), ids=str)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
def test_variance_of_long_rows(shape, dtype):
    x = (torch.randn(shape, dtype=torch.float64) * 2 + 100).to(dtype)
    for correction in (0, 1, 5):
        mine = torch.var_mean(x.cuda(), -1, correction=correction)
        for m, t in zip(mine, torch.var_mean(x.double(), -1, correction=correction), strict=True):
            torch.testing.assert_close(m.cpu().double(), t, rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-5)
    torch.testing.assert_close(x.cuda().std().cpu().double(), x.double().std(), rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize("shape", ((700, 40), (40, 700), (3, 500, 5)), ids=str)
def test_extremes_of_columns(shape):
    x = torch.randn(shape).round()
    x[..., 100 % shape[-2], 2] = float("nan")
    for call in (torch.max, torch.min):
        mine, theirs = call(x.cuda(), -2), call(x, -2)
        assert torch.equal(mine.indices.cpu(), theirs.indices)
        assert torch.equal(mine.values.cpu().nan_to_num(99), theirs.values.nan_to_num(99))
    assert torch.equal(x.cuda().argmax(-2).cpu(), x.argmax(-2))


def test_distances_by_products():
    same(torch.cdist, torch.randn(2, 40, 8), torch.randn(2, 30, 8), strides=False)
    same(lambda a, b: torch.cdist(a, b, 1.0), torch.randn(4, 8), torch.randn(3, 8))


def test_take():
    x, at = torch.randn(5, 7), torch.tensor([[0, -1], [34, 3]])
    assert torch.equal(x.cuda().take(at.cuda()).cpu(), x.take(at))
    assert torch.equal(x.cuda().t().take(at.cuda()).cpu(), x.t().take(at))
