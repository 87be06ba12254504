"""Resizing, pooling by means and sampling of grids with history: the kernels' values and gradients are those of tensor operations."""

import sys

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.shared import taps as tables_of_taps
from shim_torch.nn import functional as F

RECORDS = "shim_torch._impl.records"
resampling, kernels = (sys.modules[f"{RECORDS}.{name}"] for name in ("image.resampling", "shim.resampling"))
SETTINGS = [
    ("linear", 1, {"scale_factor": 2}),
    ("linear", 1, {"size": 4, "align_corners": True}),
    ("bilinear", 2, {"scale_factor": 1.7}),
    ("bilinear", 2, {"size": (3, 11), "align_corners": True}),
    ("bilinear", 2, {"size": (3, 11), "antialias": True}),
    ("bicubic", 2, {"scale_factor": 2}),
    ("bicubic", 2, {"size": (3, 4), "antialias": True}),
    ("trilinear", 3, {"scale_factor": 0.6}),
    ("nearest", 2, {"scale_factor": 2}),
    ("nearest-exact", 3, {"size": (2, 9, 5)}),
    ("nearest", 1, {"scale_factor": 0.6}),
]
SIZES = {1: (2, 3, 9), 2: (2, 3, 7, 9), 3: (2, 3, 5, 6, 7)}


def leaf(*sizes, seed=0):
    return torch.tensor(np.random.RandomState(seed).randn(*sizes)).requires_grad_()


def plainly(monkeypatch, call):
    """``call`` by tensor operations alone."""
    with monkeypatch.context() as patch:
        for module, asks in (
            ("image.resampling", "taps_here"),
            ("nn.average_pooling", "separable_here"),
            ("image.grid_sampling", "separable_here"),
        ):
            patch.setattr(sys.modules[f"{RECORDS}.{module}"], asks, lambda x: False)
        return call()


def alike(monkeypatch, call, *inputs):
    """The value, and gradients of two orders, by the kernels and by tensor operations."""

    def both():
        y = call(*inputs)
        g = torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape).sin()
        first = torch.autograd.grad(y, inputs, g, retain_graph=True)
        again = torch.autograd.grad(y, inputs, g, create_graph=True)
        second = (
            torch.autograd.grad(sum((x * x).sum() for x in again), inputs, allow_unused=True)
            if again[0].requires_grad
            else ()
        )
        return [y, *first, *again, *(x for x in second if x is not None)]

    for found, expected in zip(both(), plainly(monkeypatch, both), strict=False):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode, dims, settings", SETTINGS)
def test_resizing(monkeypatch, mode, dims, settings):
    alike(monkeypatch, lambda x: F.interpolate(x, mode=mode, **settings), leaf(*SIZES[dims]))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_grids(monkeypatch, mode, padding, align_corners):
    def call(x, at):
        return F.grid_sample(x, 1.2 * at, mode, padding, align_corners)

    alike(monkeypatch, call, leaf(2, 3, 5, 6), leaf(2, 3, 4, 2, seed=1))
    alike(monkeypatch, call, leaf(2, 2, 4, 5, 6), leaf(2, 3, 2, 4, 3, seed=1))


@pytest.mark.parametrize("settings", [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": (2, 3, 2), "stride": (1, 2, 3), "padding": (1, 1, 0), "divisor_override": 5},
])  # fmt: skip
def test_means_over_windows(monkeypatch, settings):
    alike(monkeypatch, lambda x: F.avg_pool3d(x, **settings), leaf(2, 3, 5, 6, 7))
    if "divisor_override" not in settings:
        x = leaf(2, 3, 9)
        wide = x.detach().unsqueeze(-2).unsqueeze(-2).requires_grad_()
        per_dim = {
            k: (v if isinstance(v, bool) else (0, 0, v) if k == "padding" else (1, 1, v)) for k, v in settings.items()
        }
        y, z = F.avg_pool1d(x, **settings), F.avg_pool3d(wide, **per_dim)
        np.testing.assert_allclose(y.detach().numpy(), z.detach().squeeze(-2).squeeze(-2).numpy(), rtol=1e-12)
        y.square().sum().backward()
        z.square().sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), wide.grad.squeeze(-2).squeeze(-2).numpy(), rtol=1e-12)


def test_means_of_parts(monkeypatch):
    alike(monkeypatch, lambda x: F.adaptive_avg_pool1d(x, 4), leaf(2, 3, 9))
    alike(monkeypatch, lambda x: F.adaptive_avg_pool2d(x, (3, 5)), leaf(2, 3, 7, 9))
    alike(monkeypatch, lambda x: F.adaptive_avg_pool3d(x, (3, 5, 2)), leaf(2, 5, 6, 7))


def test_bodies_are_the_references():
    x, g = leaf(2, 5, 3).detach(), leaf(2, 4, 3, seed=1).detach()
    places, weights = torch.tensor([[0, 1], [4, -1], [2, 2], [-1, -1]]), leaf(4, 2, seed=2).detach()
    run = torch.ops.shim
    for dim, t, back in ((1, x, g), (2, x.mT.contiguous(), g.mT.contiguous())):
        expected = kernels.resample_dim(np, t.numpy(), dim, places.numpy(), weights.numpy())
        np.testing.assert_allclose(run.resample_dim(t, dim, places, weights).numpy(), expected, rtol=1e-12)
        expected = kernels.resample_dim_backward(np, back.numpy(), dim, 5, places.numpy(), weights.numpy())
        np.testing.assert_allclose(
            run.resample_dim_backward(back, dim, 5, places, weights).numpy(), expected, rtol=1e-12
        )


def test_taps_made_in_inference_mode_serve_training():
    x = leaf(1, 1, 6, 13)
    with torch.inference_mode():
        F.interpolate(x.detach().mT.mT.requires_grad_(False), size=(5, 17), mode="bicubic")
    F.interpolate(x, size=(5, 17), mode="bicubic").sum().backward()
    assert abs(float(x.grad.sum()) - 85) < 1e-9


def test_infinities_stay_in_their_windows():
    x = torch.zeros(1, 1, 7, 1, 1, requires_grad=True)
    with torch.no_grad():
        x[0, 0, 0] = float("inf")
    found = F.adaptive_avg_pool3d(x, (3, 1, 1)).flatten()
    assert torch.isinf(found[0]) and found[1:].tolist() == [0.0, 0.0]


def test_tables_are_made_on_the_host_whatever_the_default_device_is():
    like = torch.empty((), device="cpu")
    tables = {}
    for default in ("cpu", "meta"):
        with torch.device(default):
            made = tables_of_taps.taps((7, 5, None, default == "cpu"), resampling._linear_taps, like)
            tables[default] = [*made, *tables_of_taps._transposed_taps(*made, 7)]
            assert {t.device.type for t in tables[default]} == {"cpu"}
    torch.testing.assert_close(tables["meta"][1].sum(1), torch.ones(5))
    torch.testing.assert_close(tables["meta"][3].sum(), torch.tensor(5.0))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("sizes", "out"), [((5,), (7,)), ((4, 6), (8, 3)), ((3, 2, 5), (2, 5, 5))])
def test_nearest(sizes, out, exact):
    torch.manual_seed(0)
    x = torch.randn(2, 3, *sizes, dtype=torch.float64, requires_grad=True)
    scales = [a / b for a, b in zip(sizes, out, strict=True)]
    run = lambda t: torch.ops.shim.nearest(t, out, scales, exact)
    assert torch.equal(run(x), F.interpolate(x, out, mode="nearest-exact" if exact else "nearest"))
    assert torch.autograd.gradcheck(run, x)
    assert torch.autograd.gradgradcheck(run, x)
