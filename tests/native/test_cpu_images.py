"""CPU kernels of pads, pools, resampling and small constructions: against what keeps a history, which is made of other operators."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shim_torch as torch

F = torch.nn.functional


def both(f, *tensors):
    """f without and with a history."""
    plain = f(*tensors)
    kept = f(*(t.clone().requires_grad_() for t in tensors)).detach()
    assert plain.shape == kept.shape and plain.dtype == kept.dtype and plain.stride() == kept.stride()
    assert np.allclose(plain.numpy(), kept.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True)
    return plain


@pytest.fixture(params=[torch.float32, torch.float64])
def image(request):
    torch.manual_seed(0)
    return torch.randn(2, 3, 7, 9, dtype=request.param)


@pytest.mark.parametrize("pad", [(1, 2), (1, 2, 3, 0), (0, 0, 2, 2), (-1, 2, 1, -2)])
def test_pads(image, pad):
    width = [(0, 0)] * (4 - len(pad) // 2) + [
        (max(a, 0), max(b, 0)) for a, b in zip(pad[-2::-2], pad[::-2], strict=True)
    ]
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        for x in (image, image.transpose(2, 3)) if len(pad) == 4 or mode == "constant" else (image[0],):
            found = both(lambda t, m=mode: F.pad(t, pad, mode=m), x)
            if min(pad) >= 0:
                assert np.array_equal(found.numpy(), np.pad(x.numpy(), width[-x.dim() :], mode=name))
    assert F.pad(torch.arange(3), (1, 1), value=7).tolist() == [7, 0, 1, 2, 7]
    assert np.array_equal(
        F.pad(image, pad, value=-math.inf).numpy() == -math.inf,
        F.pad(torch.zeros_like(image), pad, value=1).numpy() == 1,
    )


def test_pads_that_reach_too_far_are_refused(image):
    with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
        F.pad(image, (9, 0, 0, 0), mode="reflect")
    with pytest.raises(RuntimeError, match="wrapping around more than once"):
        F.pad(image, (10, 0, 0, 0), mode="circular")


def test_the_gradient_of_a_pad_is_a_pad(image):
    x = image.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: F.pad(t, (1, -2, -1, 1), value=3.0), (x,))
    assert torch.autograd.gradgradcheck(lambda t: F.pad(t, (1, -2, -1, 1), value=3.0).square(), (x,))


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


@pytest.mark.parametrize(
    "window", [(2,), (3, 2, 1), (2, 1, 0, True), (3, 2, 1, False, False), (2, 2, 1, True, False, 3)]
)
def test_pools(image, window):
    both(lambda t: F.avg_pool2d(t, *window), image)
    both(lambda t: F.max_pool2d(t, *window[:3]), image)
    both(lambda t: F.max_pool1d(t[:, 0], *window[:3]), image)
    if len(window) < 6:
        both(lambda t: F.avg_pool1d(t[:, 0], *window), image)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("aligned", [False, True])
def test_grids(image, mode, padding, aligned):
    grid = torch.rand(2, 5, 6, 2, dtype=image.dtype) * 2.6 - 1.3
    both(lambda t: F.grid_sample(t, grid, mode, padding, aligned), image)
    both(lambda t: F.grid_sample(t[:, :, :1, :1], grid * 3, mode, padding, aligned), image)


# PyTorch 2.13 at places far outside of an image too: values, the gradient by the grid, and that by the image times 0, 1, 2, ..., summed.
FAR = [(-1.6, 0.3), (2.2, -3.4), (-4.7, 5.9), (6.1, 7.3), (1.0, -1.0), (-13.25, 40.5)]
FAR_EXPECTED = {
    ("zeros", False): (
        [0.0, 0.0, 0.0, 0.0, 0.083747038, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.753723338, 0.60297867, 0.0, 0.0],
        1.8,
    ),
    ("zeros", True): (
        [0.0, 0.0, 0.0, 0.0, 0.33498815, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.205957341, -0.859070474, 0.0, 0.0],
        7.2,
    ),
    ("border", False): (
        [0.503318363, 0.33498815, -0.87969576, 0.669569762, 0.33498815, -0.87969576],
        [0.0, -3.073364717, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        103.9,
    ),
    ("border", True): (
        [0.606598107, 0.33498815, -0.87969576, 0.669569762, 0.33498815, -0.87969576],
        [0.0, 1.51165474, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        103.15,
    ),
    ("reflection", False): (
        [0.791433638, -0.282645123, 0.373552996, 0.714654207, 0.33498815, -0.096873352],
        [0.210270829, -3.934691926, -0.637972902, -4.12809838, 0.264562834, -3.41813744, -1.184084618, -5.93560039, 0.0, 0.0, -0.579249165, -6.362061237],
        77.8,
    ),
    ("reflection", True): (
        [0.868694093, 0.239794639, 0.324061563, 0.072337067, 0.33498815, 0.384573876],
        [0.264869403, 2.782808264, -0.154259163, -3.007043995, 0.092373882, -3.189804102, -0.440905745, -4.505953358, 0.0, 0.0, -0.894062936, -5.256042483],
        76.84,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("padding", "aligned"), FAR_EXPECTED)
def test_places_far_outside(padding, aligned):
    values, of_grid, of_image = FAR_EXPECTED[padding, aligned]
    image = torch.arange(20, dtype=torch.float64).mul(0.7).sin().view(1, 1, 4, 5)
    grid = torch.tensor(FAR, dtype=torch.float64).view(1, 1, -1, 2)
    assert np.allclose(F.grid_sample(image, grid, "bilinear", padding, aligned).flatten().numpy(), values, atol=1e-8)
    image.requires_grad_(), grid.requires_grad_()
    found = F.grid_sample(image, grid, "bilinear", padding, aligned)
    assert np.allclose(found.detach().flatten().numpy(), values, atol=1e-8)
    dx, dg = torch.autograd.grad(found, (image, grid), torch.linspace(1, 2, 6, dtype=torch.float64).view(found.shape))
    assert np.allclose(dg.flatten().numpy(), of_grid, atol=1e-8)
    assert float((dx.flatten() * torch.arange(20)).sum()) == pytest.approx(of_image, rel=1e-8)


def test_places_written_and_built():
    x, y, i = torch.arange(30.0).view(6, 5), -torch.ones(3, 5), torch.tensor([0, 5, 2])
    wanted = x.numpy().copy()
    wanted[[0, 5, 2]] = -1
    assert np.array_equal(x.index_copy(0, i, y).numpy(), wanted) and np.array_equal(
        x.index_fill(0, i, -1).numpy(), wanted
    )
    assert np.array_equal(x.t().index_fill(1, i, -1).numpy(), wanted.T) and x.t().index_fill(1, i, -1).stride() == (
        1,
        5,
    )
    assert x.take(torch.tensor([[0, 7], [-1, 3]])).tolist() == [[0, 7], [29, 3]]
    with pytest.raises(IndexError):
        x.index_fill(0, torch.tensor([6]), 1)
    with pytest.raises(RuntimeError, match="Expected a long tensor for index, but got Int"):
        x.index_copy(0, i.int(), y)
    for offset in (0, 1, -2):
        assert np.array_equal(torch.diag(x[0], offset).numpy(), np.diag(x[0].numpy(), offset))
        assert np.array_equal(torch.diagonal(x.diag_embed(offset), offset, 1, 2).numpy(), x.numpy())
        assert np.array_equal(torch.tril_indices(4, 6, offset).numpy(), np.stack(np.tril_indices(4, offset, 6)))
        assert np.array_equal(torch.triu_indices(4, 6, offset).numpy(), np.stack(np.triu_indices(4, offset, 6)))
    assert np.array_equal(torch.complex(x, 2 * x).numpy(), x.numpy() + 2j * x.numpy())
    p, t = torch.tensor([0.0, 1.0, 0.3]), torch.tensor([0.0, 0.5, 1.0])
    assert np.allclose(F.binary_cross_entropy(p, t, reduction="none").numpy(), [0, 50, -math.log(0.3)])
    logits, places = torch.randn(9, 4), torch.arange(9) % 4
    both(lambda v: F.cross_entropy(v, places), logits)
    assert torch.isclose(x, x + 1e-9).all() and not torch.isclose(x, x + 1).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_angles_of_every_quadrant(dtype):
    v = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-30, -3e20, math.inf, -math.inf, math.nan, 0.7, -2.5], dtype=dtype)
    a, b = v[:, None].expand(11, 11), v[None].expand(11, 11)
    assert np.allclose(
        torch.atan2(a, b).numpy(),
        np.arctan2(a.numpy(), b.numpy()),
        rtol=3e-7 if dtype is torch.float32 else 1e-14,
        equal_nan=True,
    )
    assert np.array_equal(np.signbit(torch.atan2(v[:2], v[2:4]).numpy()), [False, True])
    assert np.allclose(torch.hypot(a, b).numpy(), np.hypot(a.numpy(), b.numpy()), equal_nan=True)
