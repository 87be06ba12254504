"""Images resized: bytes as PyTorch rounds them, memory formats, antialiasing, sizes of nothing."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

from ..checked_calls import both

EXPECTED = {
    ("bilinear", False): (
        [[216, 115, 51, 77, 72, 87, 108], [122, 143, 170, 196, 131, 121, 142], [27, 48, 75, 101, 127, 154, 175]],
        [[165, 202, 111, 148, 57], [151, 60, 97, 134, 171]],
    ),
    ("bilinear", True): (
        [[207, 125, 75, 101, 73, 78, 99], [122, 143, 170, 196, 131, 121, 142], [36, 57, 84, 110, 136, 163, 184]],
        [[149, 186, 114, 151, 78], [147, 75, 112, 149, 149]],
    ),
    ("bicubic", False): (
        [[233, 109, 33, 74, 68, 84, 110], [117, 153, 203, 220, 132, 108, 145], [21, 42, 73, 98, 126, 159, 179]],
        [[171, 208, 117, 154, 39], [144, 53, 90, 127, 188]],
    ),
    ("bicubic", True): (
        [[224, 125, 58, 96, 63, 69, 94], [119, 145, 183, 205, 127, 114, 144], [26, 46, 76, 102, 140, 174, 193]],
        [[149, 195, 115, 152, 71], [146, 66, 112, 149, 156]],
    ),
}


@pytest.mark.parametrize(("mode", "antialias"), EXPECTED)
def test_bytes_are_resized_as_pytorch_does(mode, antialias):
    x = torch.arange(60).mul(37).remainder(256).to(torch.uint8).view(1, 3, 4, 5)
    resize = torch.nn.functional.interpolate
    grown, shrunk = EXPECTED[mode, antialias]
    assert resize(x, size=(3, 7), mode=mode, antialias=antialias)[0, 1].tolist() == grown
    assert resize(x, size=(2, 5), mode=mode, antialias=antialias)[0, 2].tolist() == shrunk
    nhwc = x.contiguous(memory_format=torch.channels_last)
    assert resize(nhwc, size=(3, 7), mode=mode).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_channels_stay_last(mode, dtype):
    x = torch.arange(144).view(1, 3, 6, 8).to(dtype).contiguous(memory_format=torch.channels_last)
    result = torch.nn.functional.interpolate(x, size=(3, 4), mode=mode)
    assert result.stride() == (36, 1, 12, 3)
    plain = torch.nn.functional.interpolate(x.contiguous(), size=(3, 4), mode=mode)
    assert plain.stride() == (36, 12, 4, 1) and torch.equal(result, plain)


LAST = torch.channels_last


PARTS = {
    "whole": (lambda x: x, True),
    "middle": (lambda x: x[:, :, 2:-2, 2:-2], True),
    "every other": (lambda x: x[:, :, ::2, ::2], True),
    "one picture, its batch added again": (lambda x: x[0][None], False),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(
    "options",
    [
        {"mode": "nearest"},
        {"mode": "nearest-exact"},
        {"mode": "bilinear"},
        {"mode": "bilinear", "antialias": True},
        {"mode": "bicubic", "align_corners": True},
        {"mode": "bicubic", "antialias": True},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_formats(part, dtype, options):
    take, last = PARTS[part]
    x = take(torch.randint(0, 200, (1, 3, 20, 20)).to(dtype).contiguous(memory_format=LAST))
    y = F.interpolate(x, size=(7, 9), **options)
    assert y.is_contiguous(memory_format=LAST) == last
    assert y.is_contiguous() == (not last)
    assert torch.equal(y, F.interpolate(x.contiguous(), size=(7, 9), **options)) or dtype == torch.float32
    # Of weighted numbers up to 200 a small rest may be left: as much as these lose, whatever is left of them.
    torch.testing.assert_close(
        y.contiguous(), F.interpolate(x.contiguous(), size=(7, 9), **options), rtol=1.3e-6, atol=2e-4
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_dtypes_of_antialiasing(mode, dtype):
    with pytest.raises(NotImplementedError, match='"compute_index_ranges_weights" not implemented for'):
        F.interpolate(torch.ones(1, 3, 8, 8, dtype=dtype), size=(4, 4), mode=mode, antialias=True)


def test_an_absent_gradient_passes_and_sizes_beyond_64_bits_are_refused():
    leaf = torch.randn(1, 2, 2, 2, requires_grad=True)
    result = F.interpolate(leaf.contiguous(memory_format=LAST), size=4, mode="nearest")
    absent = torch._C._functions.UndefinedGrad()(result)
    assert torch.autograd.grad(absent, leaf, torch.ones_like(absent), allow_unused=True) == (None,)
    for factor in (1e20, -1e20, float("nan")):
        with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
            F.interpolate(torch.ones(1, 1, 16, 16), scale_factor=factor, mode="bilinear")


def test_resizing_what_has_no_elements_makes_no_tables():
    x = torch.empty(2, 3, 10**9, device="meta")
    assert torch.nn.functional.interpolate(x, scale_factor=2).shape == (2, 3, 2 * 10**9)
    y = torch.empty(1, 1, 10**6, 10**6, device="meta", requires_grad=True)
    for mode, settings in (("bilinear", {}), ("bicubic", {}), ("nearest-exact", {})):
        assert torch.nn.functional.interpolate(y, scale_factor=2, mode=mode, **settings).shape == (
            1,
            1,
            2 * 10**6,
            2 * 10**6,
        )


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (5, 9), (14, 2), (7, 3)])
def test_sizes(image, size):
    both(lambda t: F.adaptive_avg_pool2d(t, size), image)
    both(lambda t: F.adaptive_avg_pool2d(t[0], size), image)
    for x in (image, image.transpose(2, 3)):
        both(lambda t: F.interpolate(t, size), x)
        for aligned in (False, True):
            both(lambda t, a=aligned: F.interpolate(t, size, mode="bilinear", align_corners=a), x)
    for factor in (2, 0.5, 1.7, (2, 1.3)):
        both(lambda t, f=factor: F.interpolate(t, scale_factor=f), image)
        both(lambda t, f=factor: F.interpolate(t, scale_factor=f, mode="bilinear"), image)
    whole = torch.arange(12, dtype=torch.uint8).view(1, 1, 3, 4)
    assert torch.equal(F.interpolate(whole, scale_factor=2), whole.repeat_interleave(2, 2).repeat_interleave(2, 3))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_gradients_can_be_asked_for_again(mode):
    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = F.interpolate(x, size=6, mode=mode)
    assert not packed  # nothing of a program's is kept for the gradient
    first, second = (torch.autograd.grad(y, x, torch.ones_like(y))[0] for _ in range(2))
    assert torch.equal(first, second) and first.sum().item() == pytest.approx(y.numel())
