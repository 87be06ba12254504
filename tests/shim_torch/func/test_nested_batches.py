"""Jacobians of Jacobians: batches within batches, of which the outer one began after the inner one had ended."""

import pytest

import shim_torch as torch
from shim_torch.func import hessian, jacrev, vmap

FUNCTIONS = {
    "products": lambda x, y: (x * x * y).sum(),
    "sines": lambda x, y: (x.sin() * y.sin()).sum(),
    "matrices": lambda x, y: ((x[None].relu() * x) @ (y[:, None] * y).sin()).sum(),
    "vectors": lambda x, y: x * x * y,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", [hessian, lambda f, argnums: jacrev(jacrev(f, argnums), argnums)])
def test_second_derivatives_by_several_inputs(name, transform):
    f = FUNCTIONS[name]
    x, y = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([0.5, 4.0, -1.5])
    found = transform(f, argnums=(0, 1))(x, y)

    def rows(out, inputs):  # one element at a time
        grads = [torch.autograd.grad(o, inputs, create_graph=True, materialize_grads=True) for o in out.reshape(-1)]
        return [
            torch.stack(g).reshape(*out.shape, *i.shape) for g, i in zip(zip(*grads, strict=True), inputs, strict=True)
        ]

    inputs = [x.clone().requires_grad_(), y.clone().requires_grad_()]
    for i, first in enumerate(rows(f(*inputs), inputs)):
        for j, second in enumerate(rows(first, inputs)):
            assert type(found[i][j]) is torch.Tensor
            assert torch.allclose(found[i][j], second, atol=1e-5), (i, j)


def test_second_derivatives_of_every_item_of_a_batch():
    x = torch.arange(6.0).reshape(2, 3)
    found = vmap(hessian(lambda x: (x * x * x).sum()))(x)
    assert torch.equal(found, torch.stack([torch.diag(6 * row) for row in x]))


def test_rows_one_at_a_time_need_no_batch():
    class Counting(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            assert g.nonzero().shape == (1, 1)  # its shape depends on data
            return g

    x = torch.ones(3)
    assert torch.equal(jacrev(Counting.apply, chunk_size=1)(x), torch.eye(3))
    with pytest.raises(RuntimeError, match="vmap"):
        jacrev(Counting.apply, chunk_size=2)(x)
