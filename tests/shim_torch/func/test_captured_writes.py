"""A function that is differentiated may write to its arguments and to what it makes, not to what it captured."""

import pytest

import shim_torch as torch
from shim_torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

X = torch.tensor([1.0, 2.0, 3.0])
REFUSED = r"in-place operation \(aten::copy_\) that would mutate a captured Tensor"


def differentiate(transform, f):
    if transform in (jacrev, jacfwd, hessian, grad, grad_and_value):
        return transform(f)(X)
    if transform is jvp:
        return jvp(f, (X,), (X,))
    return vjp(f, X)


@pytest.mark.parametrize("transform", [grad, grad_and_value, jacrev, jacfwd, hessian, jvp, vjp])
def test_captured(transform):
    captured = torch.zeros(3)

    def f(x):
        captured.copy_(x)
        return (x * captured).sum()

    with pytest.raises(RuntimeError, match=REFUSED):
        differentiate(transform, f)
    assert captured.tolist() == [0, 0, 0]
    captured.copy_(X)  # outside, all is as before
    assert captured.tolist() == X.tolist()


def test_names_of_overloads():
    captured = torch.zeros(3)
    with pytest.raises(RuntimeError, match=r"\(aten::add_.Tensor\) that would mutate a captured"):
        grad(lambda x: captured.add_(1).sum() + x.sum())(X)


def test_what_the_function_made():
    def f(x):
        made = torch.zeros(3)
        made.copy_(x)
        made[0] = 2
        y = x * 2
        y.mul_(made)
        return y.sum()

    assert grad(f)(X).tolist() == [4, 8, 12]


def test_arguments():
    buffer, more = torch.zeros(3), {"count": torch.zeros(())}

    def f(x, kept, counts=None):
        kept.copy_(x.detach())
        counts["count"].add_(1)
        return (x**2).sum()

    assert grad(f)(X, buffer, counts=more).tolist() == [2, 4, 6]
    assert buffer.tolist() == X.tolist() and more["count"].item() == 1
    with pytest.raises(RuntimeError, match="captured"):  # given once, not for ever
        grad(lambda x: buffer.zero_().sum() + x.sum())(X)


def test_nested():
    def f(x):
        mine = torch.zeros(3)

        def g(y):
            mine.copy_(y)
            return (y * mine).sum()

        return grad(g)(x).sum()

    with pytest.raises(RuntimeError, match="captured"):
        grad(f)(X)


@pytest.mark.parametrize("order", ["vmap of grad", "grad of vmap"])
def test_with_vmap(order):
    captured = torch.zeros(3)

    def f(x):
        captured.add_(1)
        return (x**2).sum()

    with pytest.raises(RuntimeError, match="captured"):
        if order == "vmap of grad":
            vmap(grad(f))(torch.ones(2, 3))
        else:
            grad(lambda x: vmap(f)(x).sum())(torch.ones(2, 3))

    def made(x):
        y = x * 1
        y.mul_(2)
        return y.sum()

    assert vmap(grad(made))(torch.ones(2, 3)).tolist() == [[2, 2, 2]] * 2


@pytest.mark.parametrize("given", [False, True])
def test_batch_norm(given):
    module = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    if given:
        found = grad(lambda p, b, x: functional_call(module, (p, b), (x,)).pow(2).sum())(
            dict(module.named_parameters()), dict(module.named_buffers()), x
        )
        assert set(found) == {"weight", "bias"} and state["num_batches_tracked"].item() == 1
        return
    with pytest.raises(RuntimeError, match=r"\(aten::add_.Tensor\) that would mutate a captured"):
        grad(lambda x: module(x).pow(2).sum())(x)


def test_running_statistics_are_no_inplace_operator():
    mean, var = torch.zeros(2), torch.ones(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    grad(lambda x: torch.nn.functional.batch_norm(x, mean, var, training=True).pow(2).sum())(x)
    torch.testing.assert_close(mean, torch.tensor([0.2, 0.35]))
