"""Linear with an activation on a GPU, against float64 on the host."""

from __future__ import annotations

import math

import numpy as np
import pytest
from linear_cases import DTYPES, EPS, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("linear_settings")


ACTIVATIONS = [("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")]


def reference(x, w, b, activation, approximate):
    z = numbers(x) @ numbers(w).T + (0 if b is None else numbers(b))
    if activation == "relu":
        return z, np.maximum(z, 0), (z > 0).astype(float)
    if activation == "none":
        return z, z, np.ones_like(z)
    t = torch.from_numpy(z).requires_grad_()
    y = F.gelu(t, approximate=approximate)
    (slope,) = torch.autograd.grad(y.sum(), t)
    return z, numbers(y), numbers(slope)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
@pytest.mark.parametrize(
    "m, k, n, with_bias",
    [(24, 40, 56, True), (7, 5, 13, True), (200, 64, 130, False), (1, 16, 8, True), (300, 128, 1000, True)],
)
def test_fused_linear(m, k, n, with_bias, activation, approximate, dtype):
    rng = np.random.default_rng(7)
    x, w = random(rng, m, k, dtype=dtype).requires_grad_(), random(rng, n, k, dtype=dtype).requires_grad_()
    b = random(rng, n, dtype=dtype).requires_grad_() if with_bias else None
    y = fused_linear(x, w, b, activation, approximate=approximate)
    z, want, slope = reference(x, w, b, activation, approximate)
    loose = 4 * EPS[dtype]  # the gradient is that of the rounded z
    np.testing.assert_allclose(
        numbers(y), want, rtol=loose, atol=loose * math.sqrt(k) + 1e-5 * math.sqrt(k) * (dtype is not torch.float64)
    )
    wanted = [t for t in (x, w, b) if t is not None]
    g = random(rng, m, n, dtype=dtype)
    grads = torch.autograd.grad(y, wanted, g)
    steady = np.abs(z) > 4 * EPS[dtype] * math.sqrt(k) + 1e-5 if activation == "relu" else np.ones_like(z, bool)
    dz = numbers(g) * slope
    doubt = np.abs(numbers(g)) * ~steady
    for got, exact, unsure in zip(
        grads,
        (dz @ numbers(w), dz.T @ numbers(x), dz.sum(0)),
        (doubt @ np.abs(numbers(w)), doubt.T @ np.abs(numbers(x)), doubt.sum(0)),
        strict=False,
    ):
        error = np.abs(numbers(got) - exact)
        size = np.sqrt((exact**2).mean()) + 1e-3
        assert (
            error
            <= 12 * math.sqrt(max(m, k, n) / 64 + 1) * EPS[dtype] * (np.abs(exact) + size)
            + 1e-4 * size * (dtype is not torch.float64)
            + unsure
        ).all(), error.max()
    with torch.no_grad():
        again = fused_linear(x, w, b, activation, approximate=approximate)
    np.testing.assert_allclose(
        numbers(again), want, rtol=loose, atol=loose * math.sqrt(k) + 1e-5 * math.sqrt(k) * (dtype is not torch.float64)
    )


def test_relu_at_zero_and_nan():
    x = (
        torch.tensor([[0.0], [-0.0], [math.nan], [1.0], [-1.0]], device="cuda")
        .expand(5, 8)
        .contiguous()
        .requires_grad_()
    )
    w = torch.eye(8, device="cuda")
    y = fused_linear(x, w, None, "relu")
    assert y[2].isnan().all().item()
    y[[0, 1, 3, 4]].sum().backward()
    assert numbers(x.grad)[[0, 1, 3, 4], 0].tolist() == [0, 0, 1, 0]


def test_gelu_erf_is_exact():
    z = torch.linspace(-6, 6, 1024, device="cuda").reshape(-1, 1) * torch.ones(1, 8, device="cuda")
    y = numbers(fused_linear(z, torch.eye(8, device="cuda"), None, "gelu"))
    want = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))(numbers(z))
    assert np.abs(y - want).max() < 2e-6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("m, k, n", [(64, 48, 96), (300, 200, 136), (1024, 256, 512)])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("always", [True, False])
def test_two_layers_and_the_activation_between(m, k, n, with_bias, dtype, always):
    """The second layer's input gradient goes through the activation in its product's epilogue, if asked to or measured faster."""
    _core.gemm_flag("always_fuse", always)
    rng = np.random.default_rng(11)
    for _ in range(2 if always else 5):
        x, w1, w2 = (
            random(rng, m, k, dtype=dtype),
            random(rng, n, k, dtype=dtype) * 0.1,
            random(rng, k, n, dtype=dtype) * 0.1,
        )
        b1, b2, g = (
            random(rng, n, dtype=dtype) if with_bias else None,
            random(rng, k, dtype=dtype),
            random(rng, m, k, dtype=dtype),
        )
        leaves = [t.detach().requires_grad_() for t in (x, w1, b1, w2, b2) if t is not None]
        layers = leaves if with_bias else [*leaves[:2], None, *leaves[2:]]
        y = F.linear(fused_linear(*layers[:3], "gelu", approximate="tanh"), *layers[3:])
        y.backward(g)
        host = [None if t is None else torch.from_numpy(numbers(t)).requires_grad_() for t in layers]
        exact = F.linear(F.gelu(F.linear(*host[:3]), approximate="tanh"), *host[3:])
        exact.backward(torch.from_numpy(numbers(g)))
        for got, want in zip(leaves, [t for t in host if t is not None], strict=True):
            want, got = numbers(want.grad), numbers(got.grad)
            error = np.abs(got - want).max() / np.abs(want).max()
            assert error < 16 * EPS[dtype] * (4 if dtype is torch.float32 else 1), error
    epilogue = 208 if with_bias else 192
    sizes = {"epilogue": epilogue, "m": n, "n": m, "k": k, "dtype": str(dtype).removeprefix("torch.")}
    served = [p for p in _core.gemm_plans() if all(p[name] == value for name, value in sizes.items())]
    assert bool(served) == (dtype is not torch.float32)
