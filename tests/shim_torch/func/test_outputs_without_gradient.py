"""vjp() and jacrev() refuse outputs of integers; block_diag() and matrix_exp() under vmap are those of each item."""

import pytest

import shim_torch as torch
from shim_torch.func import grad, hessian, jacfwd, jacrev, vjp, vmap

REFUSED = "All outputs of f must be floating-point or complex Tensors, got Tensor with dtype torch."


@pytest.mark.parametrize(
    ("f", "dtype"),
    [(lambda x: x.argmax(), "int64"), (lambda x: x > 0, "bool"), (lambda x: (x, x.argmax()), "int64")],
    ids=["int64", "bool", "second"],
)
def test_outputs_of_integers_are_refused(f, dtype):
    x = torch.randn(3)
    for of in (lambda: vjp(f, x), lambda: jacrev(f)(x), lambda: hessian(f)(x), lambda: vmap(jacrev(f))(x[None])):
        with pytest.raises(RuntimeError, match=REFUSED + dtype):
            of()


def test_other_outputs_of_integers_are_given_as_such():
    x = torch.randn(3)
    assert jacrev(lambda x: (x * 2, x.argmax()), has_aux=True)(x)[1].dtype == torch.int64
    assert torch.equal(jacfwd(lambda x: (x * 2, x > 0))(x)[0], 2 * torch.eye(3))


def test_block_diag_of_batches():
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    f = lambda t: torch.block_diag(t, t.sin(), torch.ones(1, dtype=t.dtype))
    one = torch.zeros(5, 7, dtype=torch.float64)
    one[:2, :3], one[2:4, 3:6], one[4, 6] = x[0], x[0].sin(), 1
    assert torch.equal(f(x[0]), one)
    assert torch.equal(vmap(f)(x), torch.stack([f(t) for t in x]))
    assert torch.allclose(vmap(grad(lambda t: f(t).pow(2).sum()))(x), 2 * x + (2 * x).sin())
    assert type(f(x[0].requires_grad_()).grad_fn).__name__ == "BlockDiagBackward0"


def test_matrix_exp_of_batches():
    x = torch.randn(4, 3, 3, dtype=torch.float64)
    assert torch.allclose(vmap(torch.matrix_exp)(x), torch.linalg.matrix_exp(x))
    assert torch.allclose(vmap(torch.matrix_exp, in_dims=2)(x[:3]), torch.linalg.matrix_exp(x[:3].movedim(2, 0)))
    twice = torch.stack([x, 20 * x])
    assert torch.allclose(vmap(vmap(torch.matrix_exp))(twice), torch.linalg.matrix_exp(twice))
