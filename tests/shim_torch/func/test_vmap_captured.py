"""Tensors from outside of a ``vmap`` that require gradients: products of them alone belong to the batch."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.func import grad, jacfwd, jacrev, vjp, vmap

F = torch.nn.functional


def reference(of_item, w, x):
    w = w.detach().requires_grad_()
    y = torch.stack([of_item(w, r) for r in x])
    return torch.autograd.grad((y * y).sum(), w)[0]


OF_ITEM = {
    "jacrev": lambda w, r: jacrev(lambda r: F.linear(r.tanh(), w))(r),
    "jacfwd": lambda w, r: jacfwd(lambda r: w @ r.tanh())(r),
    "vjp of linear": lambda w, r: vjp(lambda r: F.linear(r, w), r)[1](torch.ones(2))[0] * r,
    "products of the captured": lambda w, r: (torch.ones(1, 2).mm(w) * r).sum() + (w.mv(torch.ones(4)) * r[0]).sum(),
    "grad": lambda w, r: grad(lambda r: F.linear(r, w).sin().sum())(r),
    # normalised rows have PyTorch's one operator for their history
    "grad of layer_norm": lambda w, r: grad(lambda r: F.layer_norm(r, (4,), w[0], w[1]).sin().sum())(r),
    "grad of group_norm": lambda w, r: grad(
        lambda r: F.group_norm(r.reshape(1, 4, 1) * torch.arange(1.0, 3), 2, w[0], w[1]).sin().sum()
    )(r),
    "grad of batch_norm": lambda w, r: grad(
        lambda r: F.batch_norm(r.outer(r).sin(), None, None, w[0], w[1], True).sin().sum()
    )(r),
    "two levels": lambda w, r: vmap(lambda g: vjp(lambda r: w @ r, r)[1](g)[0])(torch.eye(2)) * r,
}


@pytest.fixture
def in_float64():
    """What loses too many digits in float32, batch norm of four values thrice, is compared in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("of_item", list(OF_ITEM.values()), ids=list(OF_ITEM))
def test_their_gradients_are_added_up_once(of_item):
    w = (torch.arange(8.0).reshape(2, 4) / 5 - 0.7).requires_grad_()
    x = torch.arange(12.0).reshape(3, 4) / 10
    y = vmap(lambda r: of_item(w, r))(x)
    torch.testing.assert_close(torch.autograd.grad((y * y).sum(), w)[0], reference(of_item, w, x))


def test_what_is_the_same_for_all_can_be_written_to():
    w = torch.ones(2, 2, requires_grad=True)

    def f(r):
        y, back = vjp(lambda r: F.linear(r, w), r)
        return back(torch.ones(2))[0].add_(1) * r

    assert vmap(f)(torch.ones(3, 2)).tolist() == [[3, 3]] * 3


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_dropout_of_a_captured_tensor(randomness):
    torch.manual_seed(0)
    x = torch.ones(50, requires_grad=True)
    y = vmap(lambda s: F.dropout(x * 1, 0.5) * s, randomness=randomness)(torch.ones(3))
    assert set(y.flatten().tolist()) == {0.0, 2.0}
    assert bool((y[0] == y[1]).all()) == (randomness == "same")


@pytest.mark.parametrize("name", ["relu_", "exp_", "sigmoid_", "tanh_", "sqrt_"])
def test_gradients_of_what_is_computed_in_place(name):
    """The result is saved for backward, of a batch as of one item; a later write to it is told, not taken for it."""
    x = torch.arange(6.0).reshape(3, 2) / 3 - 0.5

    def f(r):
        y = r * r + 0.1
        getattr(y, name)()
        return y.sin().sum()

    torch.testing.assert_close(vmap(grad(f))(x), torch.stack([grad(f)(r) for r in x]))

    def overwritten(r):
        y = getattr(r * r + 0.1, name)()
        return y.add_(1).sum()

    for call in (lambda: grad(overwritten)(x[0]), lambda: vmap(grad(overwritten))(x)):
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            call()
