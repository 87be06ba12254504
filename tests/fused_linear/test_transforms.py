"""Fused layers under forward mode, tracing, dispatch modes, transforms and autocast."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.autograd.forward_ad as forward
from shim_torch import fx
from shim_torch.utils._python_dispatch import TorchDispatchMode
from shim_torch.utils.flop_counter import FlopCounterMode
from shim_torch_linear import (
    DecomposeLinear,
    fused_linear,
    linear_backward_bias,
    linear_backward_input,
    linear_backward_weight,
)

F = torch.nn.functional
ACTIVATIONS = [("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")]


def random(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def operands():
    return random(0, 4, 3), random(1, 5, 3), random(2, 5)


def separate(x, w, b, activation, approximate):
    z = F.linear(x, w, b)
    return z if activation == "none" else z.relu() if activation == "relu" else F.gelu(z, approximate=approximate)


@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
@pytest.mark.parametrize("position", range(3))
def test_forward_mode(activation, approximate, position):
    given = list(operands())
    tangent = random(3, *given[position].shape)
    found = []
    for function in (fused_linear, separate):
        with forward.dual_level():
            dual = [*given[:position], forward.make_dual(given[position], tangent), *given[position + 1 :]]
            found.append(forward.unpack_dual(function(*dual, activation, approximate=approximate)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)


class Layer(torch.nn.Module):
    def __init__(self, activation):
        super().__init__()
        _, w, b = operands()
        self.weight, self.bias, self.activation = torch.nn.Parameter(w), torch.nn.Parameter(b), activation

    def forward(self, x):
        return fused_linear(x, self.weight, self.bias, self.activation)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_symbolic_trace(activation):
    layer, x = Layer(activation), operands()[0]
    traced = fx.symbolic_trace(layer)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"] == [fused_linear]
    assert "shim_torch_linear" in traced.code
    assert torch.equal(traced(x), layer(x))


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


OF = {"none": set(), "relu": {"aten.relu.default"}, "gelu": {"aten.gelu.default"}}
BACK = {"none": set(), "relu": {"aten.threshold_backward.default"}, "gelu": {"aten.gelu_backward.default"}}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_dispatch_modes_see_pytorchs_operators(activation, shape, whole):
    """In forward and backward, and where only the backward is within the mode."""
    tensors = [t.requires_grad_() for t in (random(0, *shape), *operands()[1:])]
    want = torch.autograd.grad(separate(*tensors, activation, "none").sum(), tensors)
    with Seen() as ahead:
        y = fused_linear(*tensors, activation) if whole else None
    y = fused_linear(*tensors, activation) if y is None else y
    with Seen() as behind:
        found = torch.autograd.grad(y.sum(), tensors)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)
    names = [*ahead.names, *behind.names]
    assert not [n for n in names if n.startswith("shim")]
    assert BACK[activation] <= set(behind.names)
    assert not whole or OF[activation] <= set(ahead.names)
    assert behind.names.count("aten.mm.default") == 2


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_flops_are_counted(activation):
    x, w, b = operands()
    w.requires_grad_()
    x.requires_grad_()
    with FlopCounterMode(display=False) as both:
        y = fused_linear(x, w, b, activation)
        y.sum().backward()
    y = fused_linear(x, w, b, activation)
    with FlopCounterMode(display=False) as behind:
        y.sum().backward()
    one = 2 * 4 * 3 * 5
    assert both.get_total_flops() == 3 * one
    assert behind.get_total_flops() == 2 * one


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_a_trace_has_the_operators_and_nothing_else(activation):
    from shim_torch.fx.experimental.proxy_tensor import make_fx

    traced = make_fx(lambda *given: fused_linear(*given, activation))(*operands())
    names = [str(n.target) for n in traced.graph.nodes if n.op == "call_function"]
    assert names == ["aten.t.default", "aten.addmm.default", *OF[activation]]


def test_the_gradients_as_functions_are_counted_too():
    x, w, g = random(0, 4, 3), random(1, 5, 3), random(2, 4, 5)
    with Seen() as seen:
        dx, dw, db = linear_backward_input(g, w), linear_backward_weight(g, x, transposed=True), linear_backward_bias(g)
    assert seen.names.count("aten.mm.default") == 2 and not [n for n in seen.names if n.startswith("shim")]
    np.testing.assert_allclose(dx.numpy(), g.numpy() @ w.numpy(), rtol=1e-12)
    np.testing.assert_allclose(dw.numpy(), g.numpy().T @ x.numpy(), rtol=1e-12)
    np.testing.assert_allclose(db.numpy(), g.numpy().sum(0), rtol=1e-12)
    assert dw.stride() == (1, 5)


def test_decomposition():
    x, w, b = operands()
    want = fused_linear(x, w, b, "gelu", approximate="tanh", trans_x=False)
    with Seen() as seen, DecomposeLinear():
        found = fused_linear(x, w.t(), b, "gelu", approximate="tanh", trans_y=False)
    assert {"aten.addmm.default", "aten.gelu.default"} <= set(seen.names)
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_transforms_of_functions(activation):
    x, w, b = operands()
    found = torch.func.vmap(lambda row: fused_linear(row, w, b, activation))(x)
    np.testing.assert_allclose(found.numpy(), separate(x, w, b, activation, "none").numpy(), rtol=1e-12)
    grads = [
        torch.func.grad(lambda x, f=f: f(x, w, b, activation, approximate="none").sum())(x)
        for f in (fused_linear, separate)
    ]
    np.testing.assert_allclose(grads[0].numpy(), grads[1].numpy(), rtol=1e-12)


def test_autocast():
    x, w, b = (t.float() for t in operands())
    w.requires_grad_()
    with torch.autocast("cpu"):
        first, second = (fused_linear(x, w, b, "relu") for _ in range(2))
        assert first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
    assert first.dtype is torch.bfloat16
    first.sum().backward()
    assert w.grad.dtype is torch.float32
