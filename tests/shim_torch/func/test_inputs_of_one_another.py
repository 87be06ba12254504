"""Gradients by an input of which another input is computed: each counts what it gives itself, and once; second ones as first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch.func import grad, jacfwd, jacrev, vmap

Function = Callable[[Any], Any]

LOSSES: dict[str, Function] = {
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x * 2),
    "smooth_l1 of the target": lambda x: F.smooth_l1_loss(x * 2, x),
    "huber": lambda x: F.huber_loss(x, x * 2, delta=0.7),
    "huber of each": lambda x: F.huber_loss(x, x.sin(), reduction="none").sum(),
}
IMAGES: dict[str, Function] = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2).pow(3).sum(),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear").pow(3).sum(),
    "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic").pow(3).sum(),
    "grid": lambda x: F.grid_sample(x, (x * 0.1).reshape(1, 4, 2, 2), align_corners=False).pow(3).sum(),
}


def _differences(f: Function, x: Any, step: float = 1e-6) -> Any:
    """The gradient of ``f`` at ``x`` by central differences."""
    moved = torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape) * step
    return torch.stack([(f(x + d) - f(x - d)) / (2 * step) for d in moved]).reshape(x.shape)


def _second(f: Function, x: Any, step: float = 1e-6) -> Any:
    moved = torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape) * step
    found = torch.stack([(grad(f)(x + d) - grad(f)(x - d)) / (2 * step) for d in moved], -1)
    return found.reshape(*x.shape, *x.shape)


def _close(a: Any, b: Any) -> bool:
    return bool((a - b).abs().max() <= 1e-6 * (1 + b.abs().max()))


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_a_tensor_and_of_what_is_computed_of_it(name: str) -> None:
    f = LOSSES[name]
    x = torch.randn(3, 5, dtype=torch.float64)
    wanted = torch.stack([_differences(f, row) for row in x])
    assert _close(vmap(grad(f))(x), wanted)
    assert _close(vmap(jacfwd(f))(x), wanted)
    assert _close(grad(lambda y: vmap(f)(y).sum())(x), wanted)
    assert _close(vmap(jacrev(grad(f)))(x), torch.stack([_second(f, row) for row in x]))


@pytest.mark.parametrize("name", IMAGES)
def test_second_derivatives_of_resampling_under_vmap(name: str) -> None:
    f = IMAGES[name]
    x = torch.randn(2, 1, 1, 4, 4, dtype=torch.float64)
    wanted = torch.stack([_second(f, image) for image in x])
    assert wanted.abs().max() > 0.1
    assert _close(vmap(jacrev(grad(f)))(x), wanted)
    assert _close(vmap(jacfwd(grad(f)))(x), wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("parts", [lambda x: (x, x, x), lambda x: (x, x * 2, x.sin())], ids=["same", "computed"])
def test_attention_of_a_tensor_with_itself_is_differentiated_again(dtype: Any, parts: Function) -> None:
    x = torch.randn(1, 2, 6, 8, dtype=dtype, requires_grad=True)
    loss = lambda y: F.scaled_dot_product_attention(*parts(y)).float().sin().sum()
    (once,) = torch.autograd.grad(loss(x), x)
    (kept,) = torch.autograd.grad(loss(x), x, create_graph=True)
    assert (once - kept).abs().max() <= 0.02 * once.abs().max()
    (again,) = torch.autograd.grad(kept.float().sin().sum(), x)
    wide = x.detach().float().requires_grad_()
    (first,) = torch.autograd.grad(loss(wide), wide, create_graph=True)
    (wanted,) = torch.autograd.grad(first.sin().sum(), wide)
    assert (again.float() - wanted).abs().max() <= 0.05 * wanted.abs().max()


def test_a_grid_computed_of_its_image_is_differentiated_again() -> None:
    f = IMAGES["grid"]
    x = torch.randn(1, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    (once,) = torch.autograd.grad(f(x), x)
    (kept,) = torch.autograd.grad(f(x), x, create_graph=True)
    assert _close(kept.detach(), once)
    (again,) = torch.autograd.grad(kept.sin().sum(), x)
    wanted = _differences(lambda y: grad(f)(y).sin().sum(), x.detach())
    assert _close(again, wanted)


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True]])
def test_the_gradients_of_a_grid_are_those_asked_for(mask: list[bool]) -> None:
    g, x = torch.randn(1, 1, 4, 4), torch.randn(1, 1, 3, 3, requires_grad=True)
    found = torch.ops.aten.grid_sampler_2d_backward(g, x, torch.rand(1, 4, 4, 2), 0, 0, False, mask)
    assert [f is not None for f in found] == mask
    with torch.no_grad():
        found = torch.ops.aten.grid_sampler_2d_backward(g, x, torch.rand(1, 4, 4, 2), 0, 0, False, mask)
    assert all(f is None or not f.requires_grad for f in found)
