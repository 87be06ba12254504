"""The stack of transforms: its levels, what is refused within it, and gradients by what a function captured."""

import pytest

import shim_torch as torch
from shim_torch._C import _functorch as levels
from shim_torch.func import (
    debug_unwrap,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

X = torch.tensor([1.0, 2.0, 3.0])


def test_results_keep_the_graph_of_captured_tensors():
    w = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    found, value = grad_and_value(lambda x: (x * w * w).sum())(X)
    assert torch.autograd.grad(found.sum(), w, retain_graph=True)[0].tolist() == [4.0, 6.0, 8.0]
    assert torch.autograd.grad(value, w)[0].tolist() == [4.0, 12.0, 24.0]
    output, back = vjp(lambda x: x * w, X)
    assert output.requires_grad and torch.autograd.grad(back(torch.ones(3))[0].sum(), w)[0].tolist() == [1.0] * 3
    assert jacrev(lambda x: x * w)(X).requires_grad and jacfwd(lambda x: x * w)(X).requires_grad
    assert all(t.requires_grad for t in jvp(lambda x: x * w, (X,), (X,)))
    output, forward = linearize(lambda x: x * w, X)
    assert output.requires_grad and forward(X).requires_grad
    with torch.no_grad():
        assert not grad(lambda x: (x * w).sum())(X).requires_grad
    assert not grad(lambda x: (x * 2).sum())(X).requires_grad


def test_a_pullback_made_without_grad_still_knows_its_primals():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        output, back = vjp(lambda x: x**2, x)
    (y,) = back(torch.tensor(1.0))
    assert not output.requires_grad and y.requires_grad
    assert torch.autograd.grad(y, x)[0].item() == 2.0


def test_levels_count_all_transforms():
    seen = []

    def note(x):
        running = levels.peek_interpreter_stack()
        seen.append((levels.current_level(), levels.maybe_get_level(x), str(running.key()), levels.is_batchedtensor(x)))
        return x.sum()

    grad(note)(X)
    vmap(grad(note))(X.expand(2, 3))
    grad(lambda x: vmap(note)(x.expand(2, 3)).sum())(X)
    jvp(note, (X,), (X,))
    assert seen == [
        (1, 1, "TransformType.Grad", False),
        (2, 2, "TransformType.Grad", False),
        (2, 2, "TransformType.Vmap", True),
        (1, 1, "TransformType.Jvp", False),
    ]
    assert levels.maybe_current_level() is None and not torch._C._are_functorch_transforms_active()
    vmap(vmap(lambda x: seen.append((repr(x)[:20], debug_unwrap(x))) or x))(X.expand(2, 3))
    assert seen[-1][0] == "BatchedTensor(lvl=2," and seen[-1][1].tolist() == [X.tolist()] * 2


@pytest.mark.parametrize("transform", [grad, vmap, jacrev, jacfwd, hessian, functionalize])
def test_functions_need_a_setup_context(transform):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        transform(Sine.apply)(X)


@pytest.mark.parametrize("transform", [grad, vmap, jacrev, functionalize])
def test_gradients_of_the_users_own_are_refused(transform):
    def run(body):
        transform(lambda x: (body(x), x.sum())[1])(X)

    with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\)"):
        run(lambda x: torch.ones(2).requires_grad_())
    with pytest.raises(RuntimeError, match="torch.autograd.functional"):
        run(lambda x: torch.autograd.functional.jacobian(lambda y: y.sin(), x))
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        run(lambda x: x.sum().backward())
    if transform is grad:
        with pytest.raises(RuntimeError, match=r"attempting to call Tensor.retain_grad\(\)"):
            run(lambda x: x.sin().retain_grad())
    assert torch.ones(2).requires_grad_().requires_grad


@pytest.mark.parametrize("transform", [grad, jacrev, hessian, lambda f: lambda x: vjp(f, x)])
def test_saved_tensor_hooks_are_refused(transform):
    def sine(x):
        return x.sin().sum()

    def inside(x):
        with torch.autograd.graph.save_on_cpu():
            return sine(x)

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        transform(inside)(X)
    with pytest.raises(RuntimeError, match="saved tensor hooks"), torch.autograd.graph.save_on_cpu():
        transform(sine)(X)
    with torch.autograd.graph.save_on_cpu():
        torch.ones(2, requires_grad=True).sin().sum().backward()


def test_complex_and_independent():
    z = torch.ones(1, dtype=torch.complex64)
    for transform, name in ((jacrev, "jacrev"), (jacfwd, "jacfwd")):
        with pytest.raises(RuntimeError, match=f"{name}: Expected all inputs to be real but received complex"):
            transform(lambda x: x.conj())(z)
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real but received complex"):
            transform(lambda x: x.to(torch.complex64))(X)
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(lambda x: (x, X), (X,), (X,), strict=True)
    assert jvp(lambda x: x * 2, (X,), (X,), strict=True)[1].tolist() == [2.0, 4.0, 6.0]


def test_an_input_returned_and_saved_is_refused():
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="An input that has been returned as-is as output is being saved"):
        Same.apply(torch.ones(2, requires_grad=True))
