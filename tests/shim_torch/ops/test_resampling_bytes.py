"""Resized images of bytes; the numbers are PyTorch's."""

import pytest

import shim_torch as torch

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
