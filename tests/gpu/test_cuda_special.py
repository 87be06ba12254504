"""Pointwise kernels of special functions and of activations' gradients on CUDA, against the CPU's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn import functional

special = torch.special
FUNCTIONS = {
    "sinc": torch.sinc, "deg2rad": torch.deg2rad, "rad2deg": torch.rad2deg, "i0": torch.i0, "i0e": special.i0e, "i1": special.i1,
    "i1e": special.i1e, "ndtr": special.ndtr, "erfcx": special.erfcx, "bessel_j0": special.bessel_j0, "bessel_j1": special.bessel_j1,
    "bessel_y0": special.bessel_y0, "bessel_y1": special.bessel_y1, "modified_bessel_i0": special.modified_bessel_i0,
    "modified_bessel_i1": special.modified_bessel_i1, "logit": lambda x: torch.logit(x, 1e-3),
    "polygamma": lambda x: torch.polygamma(1, x), "polygamma2": lambda x: torch.polygamma(2, x),
    "zeta": lambda x: special.zeta(x.abs() + 1.5, x.abs() + 0.3), "heaviside": lambda x: torch.heaviside(x, x + 2),
}  # fmt: skip


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_functions(name, dtype, on_our_kernels):
    x = torch.cat([torch.linspace(-6, 6, 1001, dtype=torch.float64), torch.tensor([0.0, 25.0, 60.0, -25.0, 1e-6])]).to(
        dtype
    )
    if name.startswith("polygamma"):
        x = x.abs() + 0.01
    mine, theirs = FUNCTIONS[name](x.cuda()).cpu().double(), FUNCTIONS[name](x.double()).to(dtype).double()
    torch.testing.assert_close(
        mine,
        theirs,
        rtol=5e-5 if dtype == torch.float32 else 1e-10,
        atol=3e-6 if dtype == torch.float32 else 1e-11,
        equal_nan=True,
    )


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
def test_zeta_of_every_range(dtype, on_our_kernels):
    ends = [1.0, 2.0, 3.0, 8.0, 2.5, 0.5, 40.0, float("inf"), float("nan")]
    s = torch.tensor([*torch.linspace(1.01, 30, 40).tolist(), *ends], dtype=dtype)[:, None]
    q = torch.tensor(
        [0.0, -1.0, -0.75, -6.25, 1.0, 0.05, 0.9, 7.5, 120.0, 4e5, float("inf"), -float("inf"), float("nan")],
        dtype=dtype,
    )[None]
    mine, theirs = (
        special.zeta(s.cuda(), q.cuda()).cpu().double(),
        special.zeta(s.double(), q.double()).to(dtype).double(),
    )
    torch.testing.assert_close(mine, theirs, rtol=1e-5 if dtype == torch.float32 else 1e-13, atol=1e-37, equal_nan=True)
    assert torch.polygamma(1, q.cuda())[0, -3].item() == 0


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
def test_incomplete_gamma_functions(dtype, on_our_kernels):
    a = torch.tensor([0.0, 0.2, 1.0, 19.5, 21.0, 200.0, 4000.0, 5e6, float("inf"), float("nan")], dtype=dtype)[:, None]
    off = torch.tensor([-1.0, -0.9, -0.4, -0.29, -0.001, 0.0, 0.2, 0.31, 5.0], dtype=dtype)[None]
    for call in (torch.igamma, torch.igammac):
        mine, theirs = call(a.cuda(), (a + a * off).cuda()).cpu().double(), call(a.double(), (a + a * off).double())
        torch.testing.assert_close(
            mine, theirs, rtol=1e-6 if dtype == torch.float32 else 1e-12, atol=1e-37, equal_nan=True
        )


def test_quantiles_of_the_normal_distribution(on_our_kernels):
    x = torch.linspace(1e-6, 1 - 1e-6, 1001, dtype=torch.float64)
    torch.testing.assert_close(special.ndtri(x.cuda()).cpu(), special.ndtri(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
def test_neighbours(dtype, on_our_kernels):
    a = torch.tensor([1.0, -1.0, 0.0, 0.0, 2.5, float("inf"), float("nan"), 3.0]).to(dtype)
    b = torch.tensor([2.0, 0.0, 1.0, -1.0, 2.5, 0.0, 1.0, float("nan")]).to(dtype)
    assert torch.equal(torch.nextafter(a.cuda(), b.cuda()).cpu().nan_to_num(7), torch.nextafter(a, b).nan_to_num(7))


ACTIVATIONS = {
    "mish": functional.mish, "hardswish": functional.hardswish, "hardsigmoid": functional.hardsigmoid, "logsigmoid": functional.logsigmoid,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.3), "elu": lambda x: functional.elu(x, 1.5), "selu": functional.selu,
    "softplus": lambda x: functional.softplus(x, 2, 3), "hardtanh": lambda x: functional.hardtanh(x, -1, 2), "celu": functional.celu,
}  # fmt: skip


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_of_activations(name, dtype, on_our_kernels):
    x = (torch.randn(4000) * 4).to(dtype)
    g = torch.randn(4000).to(dtype)
    own, wide = x.cuda().requires_grad_(), x.double().requires_grad_()
    (mine,), (theirs,) = (torch.autograd.grad(ACTIVATIONS[name](t), t, g.to(t.device, t.dtype)) for t in (own, wide))
    bound = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(mine.cpu().double(), theirs, rtol=bound, atol=bound)
