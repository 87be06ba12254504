"""torch.func; gradients against formulas, batches against loops."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch import func

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


def test_grad():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert func.grad(lambda x: (x**3).sum())(x).tolist() == [3.0, 12.0, 27.0]
    assert not x.requires_grad
    found, value = func.grad_and_value(lambda x: (x * x).sum())(x)
    assert found.tolist() == [2.0, 4.0, 6.0]
    assert value.item() == 14.0
    both = func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x + 1)
    assert [b.tolist() for b in both] == [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]]
    g, aux = func.grad(lambda x: (x.sum(), x + 1), has_aux=True)(x)
    assert g.tolist() == [1.0, 1.0, 1.0]
    assert aux.tolist() == [2.0, 3.0, 4.0]
    nested = func.grad(lambda d: (d["a"] ** 2 * d["b"]).sum())({"a": x, "b": x})
    assert nested["a"].tolist() == [2.0, 8.0, 18.0]


def test_grad_of_grad():
    f = func.grad(func.grad(lambda x: x**4))
    assert f(torch.tensor(2.0)).item() == 48.0


def test_outer_graph_goes_on():
    x = torch.tensor(3.0, requires_grad=True)
    func.grad(lambda x: x**3)(x).backward()
    assert x.grad.item() == 18.0


def test_grad_errors():
    with pytest.raises(RuntimeError, match="Expected f\\(\\*args\\) to return a scalar Tensor, got tensor with 1 dims"):
        func.grad(lambda x: x)(torch.ones(2))
    with pytest.raises(RuntimeError, match="Got argnum=2, but only 1 positional inputs"):
        func.grad(lambda x: x.sum(), argnums=2)(torch.ones(2))


def test_vjp_and_jvp():
    x = torch.tensor([1.0, 2.0])
    out, pull = func.vjp(lambda x: (x**2, x.sum()), x)
    assert [o.tolist() for o in out] == [[1.0, 4.0], 3.0]
    assert pull((torch.tensor([1.0, 10.0]), torch.tensor(5.0)))[0].tolist() == [7.0, 45.0]
    value, along = func.jvp(lambda x: x**3, (x,), (torch.tensor([1.0, 2.0]),))
    assert value.tolist() == [1.0, 8.0]
    assert along.tolist() == [3.0, 24.0]


def test_jacobians():
    x = torch.tensor([1.0, 2.0, 3.0])
    np.testing.assert_allclose(func.jacrev(lambda x: x**2)(x).cpu().numpy(), np.diag([2.0, 4.0, 6.0]))
    np.testing.assert_allclose(
        func.jacfwd(lambda x: x.sum() * x)(x).cpu().numpy(), 6 * np.eye(3) + np.array([[1], [2], [3]])
    )
    np.testing.assert_allclose(func.hessian(lambda x: (x**3).sum())(x).cpu().numpy(), np.diag([6.0, 12.0, 18.0]))


def test_vmap():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3) + 1
    dots = func.vmap(torch.dot)(a, b)
    np.testing.assert_allclose(dots.cpu().numpy(), (a * b).sum(1).cpu().numpy())
    assert func.vmap(lambda x, s: x * s, in_dims=(1, None))(a, 2.0).tolist() == (a.t() * 2).tolist()
    assert func.vmap(lambda x: x, out_dims=1)(a).tolist() == a.t().tolist()
    assert func.vmap(lambda d: {"y": d["x"] + 1})({"x": a})["y"].tolist() == (a + 1).tolist()
    per_sample = func.vmap(func.grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))(torch.ones(3), a)
    assert per_sample.tolist() == a.tolist()
    assert torch.vmap is func.vmap
    with pytest.raises(ValueError, match="Expected all tensors to have the same size in the mapped dimension"):
        func.vmap(torch.add)(a, torch.ones(3))


def test_functional_call():
    layer = torch.nn.Linear(2, 2)
    weight, bias = torch.eye(2), torch.tensor([1.0, 2.0])
    out = func.functional_call(layer, {"weight": weight, "bias": bias}, torch.tensor([[3.0, 4.0]]))
    assert out.tolist() == [[4.0, 6.0]]
    assert layer.weight is dict(layer.named_parameters())["weight"]
    assert not torch.equal(layer.weight, weight)
    func.functional_call(layer, {"scale": weight}, torch.ones(1, 2))  # an attribute of the call's time
    assert not hasattr(layer, "scale")
    with pytest.raises(AttributeError, match="Linear has no attribute `x`"):
        func.functional_call(layer, {"x.scale": weight}, torch.ones(1, 2))

    def loss(parameters):
        return func.functional_call(layer, parameters, torch.ones(1, 2)).sum()

    found = func.grad(loss)(dict(layer.named_parameters()))
    assert found["weight"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert found["bias"].tolist() == [1.0, 1.0]


def test_stack_module_state():
    models = [torch.nn.Linear(2, 2) for _ in range(3)]
    parameters, buffers = func.stack_module_state(models)
    assert parameters["weight"].shape == (3, 2, 2)
    assert not buffers
    x = torch.ones(2)

    def call(p, b, x):
        return func.functional_call(models[0], (p, b), x)

    found = func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), torch.stack([m(x) for m in models]).detach().cpu().numpy(), rtol=1e-6
    )
