"""Images sampled at the places of a grid: values and gradients far outside of them too, affine grids."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

from ..checked_calls import both


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


rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_images_at_the_places_of_a_grid(mode, align, dtype):
    image = torch.from_numpy(rng.standard_normal((2, 3, 9, 11))).to(dtype)
    for count in (1, 50):  # of few places the plane is not copied
        grid = torch.from_numpy(rng.uniform(-1.6, 1.6, (2, count, 2, 2))).to(dtype)
        grid[0, 0, 0, 0] = math.nan
        grid[1, 0, 0] = torch.tensor([-1.0, 1.0])
        for padding in ("zeros", "border", "reflection"):
            found = F.grid_sample(image, grid, mode, padding, align)
            by_formula = F.grid_sample(image.clone().requires_grad_(), grid, mode, padding, align)
            torch.testing.assert_close(found, by_formula.detach(), equal_nan=True)
    image[0, 0, 0, 0] = math.inf
    away = torch.full((2, 40, 1, 2), 0.1, dtype=dtype)
    assert bool(F.grid_sample(image, away, mode, "zeros", align).isfinite().all())


def test_an_affine_grid_can_be_run_backward_twice():
    theta = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
    grid = F.affine_grid(theta, [2, 3, 2, 3], align_corners=True)
    weights = torch.arange(grid.numel()).reshape(grid.shape).float()
    grid.backward(weights)
    first = theta.grad.clone()
    grid.backward(weights)
    # Row i, column j: the sum over places of weight i times the place's j-th coordinate (x, y, 1).
    assert first[0].tolist() == [[8.0, 18.0, 30.0], [8.0, 18.0, 36.0]] and theta.grad.equal(2 * first)


def test_affine_grids_of_volumes_have_first_and_second_gradients():
    theta = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: F.affine_grid(t, [2, 1, 2, 3, 1], align_corners=False), (theta,))
    assert torch.autograd.gradgradcheck(
        lambda t: F.affine_grid(t, [2, 1, 2, 3, 1], align_corners=False).pow(2), (theta,)
    )


@pytest.mark.parametrize("n, c, places", [(2, 0, 2), (2, 3, 0), (0, 3, 2)])
def test_grids_of_nothing(n, c, places):
    got = F.grid_sample(torch.ones(n, c, 3, 4), torch.ones(n, places, 2, 2), align_corners=False)
    assert got.shape == (n, c, places, 2)
